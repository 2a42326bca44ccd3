package main

import (
	"context"
	"flag"
)

func herd() benchmark {
	return benchmark{name: "herd", flags: func(*flag.FlagSet) {}, run: func(context.Context, *options) error { return nil }}
}
func scale() benchmark {
	return benchmark{name: "scale", flags: func(*flag.FlagSet) {}, run: func(context.Context, *options) error { return nil }}
}
func idle() benchmark {
	return benchmark{name: "idle", flags: func(*flag.FlagSet) {}, run: func(context.Context, *options) error { return nil }}
}
