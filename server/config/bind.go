package config

import (
	"net"
	"slices"
	"strconv"
	"strings"
)

// Addresses returns the host:port pairs to listen on; none when there is only a unix socket. The
// first stands for the server. A "-" before an address, Redis's mark for one that may be missing,
// is dropped.
func (o Options) Addresses() []string {
	if o.Port == 0 && o.UnixSocket != "" {
		return nil
	}
	hosts := strings.FieldsFunc(o.Bind, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
	switch {
	case len(hosts) == 0 && o.ProtectedMode == Off:
		hosts = []string{""}
	case len(hosts) == 0:
		hosts = []string{"127.0.0.1"}
	}
	var addresses []string
	for _, host := range hosts {
		host = strings.Trim(strings.TrimPrefix(host, "-"), "[]")
		switch {
		case host == "*" || host == "::*":
			host = ""
		case strings.EqualFold(host, "localhost"):
			addresses = append(addresses, hostPort("127.0.0.1", o.Port))
			host = "::1"
		}
		if address := hostPort(host, o.Port); !slices.Contains(addresses, address) {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// Hosts returns the addresses of Addresses without their ports, separated by blanks, as CONFIG GET
// bind shows them.
func (o Options) Hosts() string {
	var hosts []string
	for _, address := range o.Addresses() {
		host, _, _ := net.SplitHostPort(address)
		if host == "" {
			host = "*"
		}
		hosts = append(hosts, host)
	}
	return strings.Join(hosts, " ")
}

// hostPort joins a host and a port number.
func hostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
