// Package send delivers notifications. Each notifier has a queue and a pace of its own.
//
// Queues paces, sums up and repeats messages. Services sends them: plain webhooks by itself, and everything else through the
// library shoutrrr.
//
// # Guarantees
//
// Post never waits. A notifier that hangs or refuses delays only itself. Every sending has a deadline. If it fails, it is repeated
// with growing pauses, for the time of Config.GiveUp.
//
// A notifier gets at most Config.PerMinute messages a minute. The last of them sums up all notices that wait. Beyond
// Config.MaxWaiting notices, further ones are only counted.
// Pings have queues of their own. A ping is never summed up. Beyond Config.MaxWaiting, the oldest one is dropped.
//
// # Not guaranteed
//
// A sending without an answer may have arrived. Then its repetition arrives as well.
package send
