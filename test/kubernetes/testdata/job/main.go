// A program for pods of the tests: it prints the attempt, one line a second, and exits with a code.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	seconds, _ := strconv.Atoi(os.Args[1])
	code, _ := strconv.Atoi(os.Args[2])
	fmt.Printf("begin %s attempt %s token %s secret %s\n", os.Getenv("ROTA_RUN"), os.Getenv("ROTA_ATTEMPT"), os.Getenv("ROTA_FENCING_TOKEN"), os.Getenv("SECRET"))
	for i := range seconds {
		fmt.Println("second", i)
		time.Sleep(time.Second)
	}
	fmt.Println("end")
	os.Exit(code)
}
