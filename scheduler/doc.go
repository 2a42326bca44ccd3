// Package scheduler is the loop that turns changes of the store into decisions while its replica leads.
//
// It feeds a planner and commits the planner's decisions. A follower feeds its planner too, so that it can lead at once.
package scheduler
