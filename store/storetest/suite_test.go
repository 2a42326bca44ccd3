package storetest

import (
	"testing"
	"testing/synctest"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/rota-scheduler/rota/store/mem"
)

func TestMem(t *testing.T) {
	t.Parallel()
	s := mem.New(mem.Config{})
	t.Cleanup(func() { _ = s.Close() })
	Run(t, func(*testing.T) *clientv3.Client { return s.Client() })
}

func TestMemInBubble(t *testing.T) {
	t.Parallel()
	open := func(t *testing.T) *clientv3.Client {
		s := mem.New(mem.Config{})
		t.Cleanup(func() { _ = s.Close() })
		return s.Client()
	}
	run(t, open, synctest.Test)
}

func TestEtcdInProcess(t *testing.T) {
	t.Parallel()
	Run(t, inProcess(t, startEtcd(t)))
}

func TestEtcdOverNetwork(t *testing.T) {
	t.Parallel()
	Run(t, overNetwork(startEtcd(t)))
}
