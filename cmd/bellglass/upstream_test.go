package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/bellglass/bellglass/internal/testweb"
	"github.com/bellglass/bellglass/internal/testweb/netlab"
)

// TestGateway: one bellglass serves as the gateway of another, the certificates
// given by flags and by the environment alike.
func TestGateway(t *testing.T) {
	lab := netlab.Need(t)
	ln, err := lab.Listen("tcp", ":80")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		io.WriteString(w, "from "+r.Host)
	})}
	go srv.Serve(ln)
	defer srv.Close()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := free.Addr().String()
	free.Close()
	dir := t.TempDir()
	if err := testweb.Credentials(dir, "gateway.test", "worker"); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "egress.yaml")
	err = os.WriteFile(file, fmt.Appendf(nil, `
admin: none
mtls: {listen: %q, cert_file: %[2]s/gateway.test.pem, key_file: %[2]s/gateway.test.key, client_ca_file: %[2]s/ca.pem}
roles: {readers: {clients: ["cn:worker"], trust_identity: true, mode: allowlist, allow: [93.184.216.34], allow_insecure_http: true}}
`, at, dir), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	gateway, _ := start(t, "egress", file)
	if err := gateway.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { gateway.Process.Signal(syscall.SIGTERM); gateway.Wait() }()
	eventually(t, "the gateway to listen", func() bool {
		c, err := net.Dial("tcp", at)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	settings := map[string]string{
		"upstream": "gateway://" + at, "upstream-server-name": "gateway.test", "upstream-ca": dir + "/ca.pem",
		"upstream-cert": dir + "/worker.pem", "upstream-key": dir + "/worker.key",
	}
	var flags, env []string
	for name, value := range settings {
		flags = append(flags, "--"+name, value)
		env = append(env, "BELLGLASS_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))+"="+value)
	}
	for name, how := range map[string][2][]string{"flags": {flags, nil}, "environment": {nil, env}} {
		for address, want := range map[string]int{"93.184.216.34": exitOK, "93.184.216.35": exitRejected} { // the gateway lists one
			cmd, _ := start(t, append([]string{"browse", "--allow", address, "http://" + address + "/"}, how[0]...)...)
			cmd.Env = append(cmd.Env, how[1]...)
			out, _ := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != want || (want == exitOK) != strings.Contains(string(out), "from "+address) {
				t.Errorf("%s, %s: exit code %d, want %d\n%s", name, address, code, want, out)
			}
		}
	}
}
