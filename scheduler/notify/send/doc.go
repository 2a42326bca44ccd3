// Package send delivers what is to be told: each notifier has a queue and a pace of its own.
//
// A Desk paces, sums up and repeats; it does not know how a message travels. Services does: it speaks to everything that
// the library shoutrrr speaks to, and to plain webhooks.
//
// # Guarantees
//
// Post never waits. A notifier that hangs or refuses holds nobody up but itself: every sending has a deadline and is repeated,
// at ever longer distances, for Config.GiveUp. A notifier is sent at most Config.PerMinute messages a minute; the last of them
// sums up everything that waits. Where more than Config.Waiting notices wait, the others are only counted.
//
// # Not guaranteed
//
// A sending that was not answered in time may have arrived all the same, and arrives again when it is repeated.
package send
