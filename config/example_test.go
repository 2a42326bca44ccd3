package config_test

import (
	"errors"
	"fmt"

	"github.com/rota-scheduler/rota/config"
)

func ExampleParseJobs() {
	set, err := config.ParseJobs("jobs.yaml", []byte("jobs:\n  hello:\n    every: 1m\n    shell: echo hello\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	hello := set.Jobs["hello"]
	fmt.Printf("%s:%d: every %v, timeout %v\n", hello.File, hello.Line, hello.Spec.Every, hello.Spec.Timeout)
	// Output: jobs.yaml:2: every 1m, timeout 24h
}

// Errors of a file have a line, a column and a hint.
func ExampleErrors() {
	_, err := config.ParseJobs("jobs.yaml", []byte("jobs:\n  a:\n    shel: x\n"))
	fmt.Println(err)
	// Output:
	// jobs.yaml:3:5: unknown key "shel" in job "a"
	//     3 |     shel: x
	//       |     ^
	//    hint: did you mean shell?
}

// Errors of a request have the path of a key.
func ExampleParseJob() {
	text := []byte(`{"shell": "echo hello", "retry": {"max": 5000}}`)
	_, err := config.ParseJob("hello", text, func(kind, name string) (bool, error) { return false, nil })
	if mistakes, ok := errors.AsType[config.Errors](err); ok {
		fmt.Println(mistakes[0].Path + ": " + mistakes[0].Msg)
	}
	// Output: retry.max: retry.max 5000 is not between 0 and 1000
}

func ExampleDescribe() {
	key, _, _ := config.Describe("retry.max")
	fmt.Println(key.Type+",", key.Range)
	_, near, _ := config.Describe("retry.mox")
	fmt.Println("did you mean", near)
	// Output:
	// whole number, 0 to 1000
	// did you mean [retry.max]
}
