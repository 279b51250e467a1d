"use strict";
// What pages can do beyond being read: search. All of it is there without this script, but for that.
document.documentElement.classList.add("script");
