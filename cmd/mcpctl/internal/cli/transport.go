package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"

	"golang.org/x/term"
)

// transport reaches HTTP servers the way the environment asks for: through the
// proxy of HTTP_PROXY, HTTPS_PROXY and NO_PROXY, and trusting the certificates
// of SSL_CERT_FILE.
func (app *App) transport() (http.RoundTripper, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	file, ok := app.LookupEnv("SSL_CERT_FILE")
	// Elsewhere crypto/x509 reads the variable itself.
	if !ok || file == "" || runtime.GOOS != "darwin" && runtime.GOOS != "windows" {
		return t, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fileError("SSL_CERT_FILE "+file, err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("SSL_CERT_FILE %s: %w", file, errors.New("no certificate in it"))
	}
	t.TLSClientConfig = &tls.Config{RootCAs: pool}
	return t, nil
}

func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
