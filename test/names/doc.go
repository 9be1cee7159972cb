// Package names checks what the code of Ambit calls things, as `make lint` runs it.
//
// Three rules hold for every package that ships:
//
//   - A method of a type with more than 15 methods has a name of two words or more: among so many,
//     one word does not say what it does to what. testdata/one-word.txt lists the methods that are
//     older than the rule. The list only becomes shorter: a method that is gone from the code has to
//     leave the list as well.
//   - A retired word is the name of nothing. testdata/retired.txt has the words that were replaced,
//     and by what.
//   - The comment of a function begins with its name: another one is mostly what it was once called.
//
// What the names should be instead is in the glossary of ARCHITECTURE.md.
package names
