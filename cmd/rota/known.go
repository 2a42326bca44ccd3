package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"

	"github.com/rota-scheduler/rota/cmd/rota/internal/atomicfile"
)

// knownFile returns the file that keeps the replicas of the cluster that the servers belong to; "" if there is no place for it.
func (c *cli) knownFile(servers string) string {
	dir := c.stateDir()
	if dir == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(servers))
	return filepath.Join(dir, "replicas", hex.EncodeToString(sum[:8])+".json")
}

// knownReplicas is the content of a file of replicas.
type knownReplicas struct {
	Servers  string   `json:"servers"`  // as the user named them
	Replicas []string `json:"replicas"` // URLs
}

// knownServers returns the replicas that an earlier command learned from the servers. A file that cannot be read is none.
func (c *cli) knownServers(servers string) []string {
	var f knownReplicas
	text, err := os.ReadFile(c.knownFile(servers))
	if err != nil || json.Unmarshal(text, &f) != nil || f.Servers != servers {
		return nil
	}
	return f.Replicas
}

// learnServers returns a function that keeps the replicas of the cluster for later commands. A failure costs only that knowledge.
func (c *cli) learnServers(servers string) func(replicas []string) {
	return func(replicas []string) {
		path := c.knownFile(servers)
		if path == "" {
			return
		}
		text, err := json.Marshal(knownReplicas{servers, replicas})
		if err != nil || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
			return
		}
		_ = atomicfile.Replace(path, text)
	}
}

// sayMoved returns a function that says once that another server answers.
func (c *cli) sayMoved() func(from, to string) {
	var once sync.Once
	return func(from, to string) {
		once.Do(func() { c.printNote("%s does not answer; %s does", from, to) })
	}
}
