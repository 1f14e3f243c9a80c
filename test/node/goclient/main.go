// Uses the published Go client against the cluster of KUBECONFIG, and prints the answers, as JSON.
// Arguments: namespace, pool, address of a router; where that is empty it looks for one as it does by itself.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"sigs.k8s.io/agent-sandbox/clients/go/sandbox"
)

func main() {
	if err := run(os.Args[1], os.Args[2], os.Args[3]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(namespace, pool, router string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	client, err := sandbox.NewClient(ctx, sandbox.Options{Namespace: namespace, APIURL: router, Quiet: true})
	if err != nil {
		return err
	}
	made, err := client.CreateSandbox(ctx, pool, namespace)
	if err != nil {
		return err
	}
	told := map[string]any{
		"claim": made.ClaimName(), "sandbox": made.SandboxName(), "pod": made.PodName(), "podIP": made.PodIP(),
	}
	if err := made.Write(ctx, "a.txt", []byte("hello")); err != nil {
		return err
	}
	text, err := made.Read(ctx, "a.txt")
	if err != nil {
		return err
	}
	told["text"] = string(text)
	result, err := made.Run(ctx, "cat a.txt")
	if err != nil {
		return err
	}
	told["result"] = result
	files, err := made.List(ctx, ".")
	if err != nil {
		return err
	}
	names := []string{}
	for _, file := range files {
		names = append(names, file.Name)
	}
	told["files"] = names
	exists, err := made.Exists(ctx, "b.txt")
	if err != nil {
		return err
	}
	told["exists"] = exists
	again, err := client.GetSandbox(ctx, made.ClaimName(), namespace)
	if err != nil {
		return err
	}
	told["again"] = again.SandboxName()
	if told["listed"], err = client.ListAllSandboxes(ctx, namespace); err != nil {
		return err
	}
	if err := client.DeleteSandbox(ctx, made.ClaimName(), namespace); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(told)
}
