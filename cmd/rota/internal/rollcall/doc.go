// Package rollcall observes which replicas of the cluster answer.
//
// Every replica asks the others and publishes the outages that it observes. The leader turns the reports of all replicas into
// events in the store.
package rollcall
