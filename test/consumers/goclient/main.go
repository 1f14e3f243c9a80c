// Does with the published Go client what an agent does, and prints the result of each step as JSON: "ok", or what came
// instead. The test writes page.go, which has the lines of docs/clients.md.
// Arguments: pool, namespace; for a client with a token also the address of the router, and the token.
package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"slices"
	"time"

	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
)

var results = map[string]string{}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	pool, namespace := os.Args[1], os.Args[2]
	var client *sandbox.Client
	var err error
	if len(os.Args) == 3 {
		var result *sandbox.ExecutionResult
		client, result, err = byPortForward(ctx)
		step("lines of docs/clients.md", func() (any, any, error) { return result.Stdout, "hello\n", err })
	} else {
		client, err = byToken(ctx, namespace, os.Args[3], os.Args[4])
	}
	if err == nil {
		err = work(ctx, client, pool, namespace)
		client.DeleteAll(ctx)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	json.NewEncoder(os.Stdout).Encode(results)
}

// Notes whether what was found is what is wanted.
func step(name string, do func() (found, wanted any, err error)) {
	found, wanted, err := do()
	switch {
	case err != nil:
		results[name] = err.Error()
	case fmt.Sprint(found) != fmt.Sprint(wanted):
		results[name] = fmt.Sprint(found)
	default:
		results[name] = "ok"
	}
}

func work(ctx context.Context, client *sandbox.Client, pool, namespace string) error {
	box, err := client.CreateSandbox(ctx, pool, namespace)
	if err != nil {
		return err
	}
	run := func(box *sandbox.Sandbox, command string) (any, error) {
		result, err := box.Run(ctx, command)
		if err != nil {
			return nil, err
		}
		return []any{result.Stdout, result.Stderr, result.ExitCode}, nil
	}
	step("create", func() (any, any, error) {
		return []any{box.PodName(), net.ParseIP(box.PodIP()) != nil}, []any{box.SandboxName(), true}, nil
	})
	step("command", func() (any, any, error) {
		result, err := run(box, "sh -c 'echo $((6 * 7)); echo oh >&2; exit 3'")
		return result, []any{"42\n", "oh\n", 3}, err
	})
	step("write and read", func() (any, any, error) {
		if err := box.Write(ctx, "a.txt", []byte("hello")); err != nil {
			return nil, nil, err
		}
		text, err := box.Read(ctx, "a.txt")
		return string(text), "hello", err
	})
	step("list", func() (any, any, error) {
		files, err := box.List(ctx, ".")
		has := slices.ContainsFunc(files, func(file sandbox.FileEntry) bool { return file.Name == "a.txt" })
		return has, true, err
	})
	step("exists", func() (any, any, error) {
		exists, err := box.Exists(ctx, "a.txt")
		if err != nil {
			return nil, nil, err
		}
		missing, err := box.Exists(ctx, "b.txt")
		return []bool{exists, missing}, []bool{true, false}, err
	})
	step("5 MB", func() (any, any, error) {
		content := make([]byte, 5_000_000)
		rand.Read(content)
		if err := box.Write(ctx, "large.bin", content); err != nil {
			return nil, nil, err
		}
		read, err := box.Read(ctx, "large.bin")
		return bytes.Equal(read, content), true, err
	})
	step("reconnect", func() (any, any, error) {
		again, err := client.GetSandbox(ctx, box.ClaimName(), namespace)
		if err != nil {
			return nil, nil, err
		}
		result, err := run(again, "cat a.txt")
		return result, []any{"hello", "", 0}, err
	})
	claims := func() (any, error) {
		names, err := client.ListAllSandboxes(ctx, namespace)
		return slices.Contains(names, box.ClaimName()), err
	}
	step("list claims", func() (any, any, error) {
		has, err := claims()
		return has, true, err
	})
	step("delete", func() (any, any, error) {
		if err := client.DeleteSandbox(ctx, box.ClaimName(), namespace); err != nil {
			return nil, nil, err
		}
		has, err := claims()
		return has, false, err
	})
	return nil
}
