// Package openid proves principals by an OpenID provider.
//
// A Provider reads the provider's addresses and keys in the background, so the start of a process does not wait for it. It reads
// them again every five minutes, and at once for a token with an unknown key, at most every two seconds. So a process follows
// the rotation of keys, and a key that the provider has removed counts for at most five minutes.
//
// While the provider does not answer, the last keys count for a day. Tokens end by themselves much earlier. Nobody can begin a
// session meanwhile; sessions and tokens of rota do not need the provider.
package openid
