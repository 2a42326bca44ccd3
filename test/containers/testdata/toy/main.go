// Command toy is the only program in the images of the tests. Each argument is one step, such as say:hello or exit:3.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	for _, step := range os.Args[1:] {
		name, value, _ := strings.Cut(step, ":")
		if err := perform(name, value); err != nil {
			fmt.Fprintln(os.Stderr, step, err)
			os.Exit(1)
		}
	}
}

func perform(name, value string) error {
	switch name {
	case "say":
		fmt.Println(value)
	case "complain":
		fmt.Fprintln(os.Stderr, value)
	case "count": // prints numbers, one each 10 ms
		n, err := strconv.Atoi(value)
		for i := range n {
			fmt.Println("line", i)
			time.Sleep(10 * time.Millisecond)
		}
		return err
	case "env":
		fmt.Printf("%s=%s\n", value, os.Getenv(value))
	case "sleep":
		d, err := time.ParseDuration(value)
		time.Sleep(d)
		return err
	case "note": // appends a line with the identity of the attempt to a file
		return write(value, fmt.Sprintf("%s %s %s", os.Getenv("ROTA_RUN"), os.Getenv("ROTA_ATTEMPT"), os.Getenv("ROTA_FENCING_TOKEN")))
	case "output":
		return write(os.Getenv("ROTA_OUTPUT"), value)
	case "polite": // exits with 0 on SIGTERM
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		go func() { <-term; os.Exit(0) }()
	case "ignore":
		signal.Ignore(syscall.SIGTERM)
	case "eat":
		var all [][]byte
		for {
			all = append(all, []byte(strings.Repeat("x", 1<<20)))
		}
	case "exit":
		code, err := strconv.Atoi(value)
		if err == nil {
			os.Exit(code)
		}
		return err
	default:
		return fmt.Errorf("is no step")
	}
	return nil
}

func write(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintln(f, line)
	return err
}
