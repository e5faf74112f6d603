package config

import (
	"net"
	"slices"
	"strconv"
	"strings"
)

// Addresses returns the host:port pairs to listen on without TLS; none when the port speaks TLS, or is
// 0 and there is a unix socket or a TLS port. The first stands for the server. A "-", Redis's mark for an
// address that may be missing, stays before the host.
func (o Options) Addresses() []string {
	if o.TLS.IsOn() || o.Port == 0 && (o.UnixSocket != "" || o.TLSPort != 0) {
		return nil
	}
	return o.addressesAt(o.Port)
}

// TLSAddresses returns the host:port pairs to speak TLS on.
func (o Options) TLSAddresses() []string {
	var addresses []string
	if o.TLS.IsOn() && (o.Port != 0 || o.TLSPort == 0) {
		addresses = o.addressesAt(o.Port)
	}
	if o.TLSPort != 0 {
		addresses = append(addresses, o.addressesAt(o.TLSPort)...)
	}
	return addresses
}

// SpeaksTLS tells whether any port speaks TLS.
func (o Options) SpeaksTLS() bool { return o.TLS.IsOn() || o.TLSPort != 0 }

// addressesAt returns the host:port pairs for one port.
func (o Options) addressesAt(port int) []string {
	hosts := strings.FieldsFunc(o.Bind, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' })
	switch {
	case len(hosts) == 0 && o.ProtectedMode == Off:
		hosts = []string{""}
	case len(hosts) == 0:
		hosts = []string{"127.0.0.1"}
	}
	var addresses []string
	add := func(mark, host string) {
		address := hostPort(host, port)
		if !slices.Contains(addresses, address) && !slices.Contains(addresses, "-"+address) {
			addresses = append(addresses, mark+address)
		}
	}
	for _, host := range hosts {
		host, optional := strings.CutPrefix(host, "-")
		host = strings.Trim(host, "[]")
		mark := ""
		if optional {
			mark = "-"
		}
		switch {
		case host == "*" || host == "::*":
			add(mark, "")
		case strings.EqualFold(host, "localhost"):
			add(mark, "127.0.0.1")
			add("-", "::1")
		default:
			add(mark, host)
		}
	}
	return addresses
}

// HTTPAddress returns the host:port to answer HTTP on; empty for none.
func (o Options) HTTPAddress() string {
	host := strings.Trim(o.HTTPBind, "[]")
	switch {
	case !o.HTTPPort.Given:
		return ""
	case host == "":
		host = "127.0.0.1"
	case host == "*":
		host = ""
	}
	return hostPort(host, o.HTTPPort.Value)
}

// Hosts returns the hosts to listen on, separated by blanks, as CONFIG GET bind shows them.
func (o Options) Hosts() string {
	var hosts []string
	for _, address := range o.addressesAt(o.Port) {
		host, _, _ := net.SplitHostPort(strings.TrimPrefix(address, "-"))
		if host == "" {
			host = "*"
		}
		if strings.HasPrefix(address, "-") {
			host = "-" + host
		}
		hosts = append(hosts, host)
	}
	return strings.Join(hosts, " ")
}

// hostPort joins a host and a port number.
func hostPort(host string, port int) string { return net.JoinHostPort(host, strconv.Itoa(port)) }
