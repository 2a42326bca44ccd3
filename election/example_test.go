package election_test

import (
	"context"
	"fmt"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/election"
	"github.com/rota-scheduler/rota/store/mem"
)

// A leader writes only under the guard of its term, and returns when its context ends.
func ExampleElector_Run() {
	etcd := mem.New(mem.Config{}) // a real program connects to etcd
	defer etcd.Close()
	client := etcd.Client()

	ctx, stop := context.WithCancel(context.Background())
	elector := election.New(election.Config{Prefix: "/example/election/", Name: "a"}, client, hclog.NewNullLogger())
	err := elector.Run(ctx, func(ctx context.Context, term election.Term) error {
		resp, err := client.Txn(ctx).If(term.Held()).Then(clientv3.OpPut("/example/work", "done by a")).Commit()
		if err != nil {
			return err
		}
		fmt.Println("the guarded write took effect:", resp.Succeeded)
		stop()
		<-ctx.Done()
		return context.Cause(ctx)
	})
	fmt.Println("the election ended with:", err)
	// Output:
	// the guarded write took effect: true
	// the election ended with: <nil>
}
