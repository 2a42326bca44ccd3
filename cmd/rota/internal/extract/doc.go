// Package extract prints parts of JSON documents by the expressions of kubectl.
//
// A document that holds one list is a list: expressions find its elements under items, besides the name that the API gives them.
// Every element has a name: a run without the field name has the one in its field run.
package extract
