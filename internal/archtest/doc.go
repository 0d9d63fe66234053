// Package archtest holds the tests that keep the repository in the shape that
// docs/architecture.md describes: who imports whom, what libraries must not
// do, and that files which speak of each other agree. It has no code of its
// own and nothing imports it.
package archtest
