// Package arch checks that the tree follows the rules of the design.
//
// Imports point one way (rules_test.go and cmdrules_test.go hold the table). Each package says in one sentence what it is for. No file is longer
// than 300 lines. Only programs end the process. An addition touches few files. Each row of test/README.md is run.
package arch
