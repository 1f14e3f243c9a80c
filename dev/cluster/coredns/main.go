// The DNS server of the local cluster's real node: CoreDNS with the few plugins that it takes. All of them would take
// minutes to build.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
)

func init() {
	// In the order in which a question passes them.
	dnsserver.Directives = []string{"bind", "ready", "errors", "kubernetes", "forward"}
}

func main() {
	coremain.Run()
}
