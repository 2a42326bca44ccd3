package embedded_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/rota-scheduler/rota/store/embedded"
)

// A single member needs only a directory. A cluster also needs the list of its first members.
func ExampleStart() {
	dir, err := os.MkdirTemp("", "rota-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	server, err := embedded.Start(ctx, embedded.Config{Dir: dir, Client: "http://127.0.0.1:0"}, hclog.NewNullLogger())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	if _, err := server.Client().Put(ctx, "greeting", "hello"); err != nil {
		fmt.Println(err)
		return
	}
	resp, err := server.Client().Get(ctx, "greeting")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s from a cluster of %d\n", resp.Kvs[0].Value, server.MemberCount())
	// Output: hello from a cluster of 1
}
