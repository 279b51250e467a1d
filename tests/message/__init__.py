"""Tests of reading raw mail; a test's number is that of the situation it is about."""
