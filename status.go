package bellglass

import (
	"cmp"
	"slices"

	"github.com/bellglass/bellglass/egress"
	"github.com/bellglass/bellglass/policy"
)

// Status says what to do with a result.
type Status string

const (
	StatusOK       Status = "ok"       // use it
	StatusRejected Status = "rejected" // do not repeat this call
	StatusBusy     Status = "busy"     // try later
	StatusTimeout  Status = "timeout"  // once more, or another source
	StatusError    Status = "error"    // give this source up
)

// Reason says in one word why a status is not ok. The words are the same in
// results, logs and metrics.
type Reason = policy.Reason

// The reasons, by the status that they come with; see [Reason] for where else
// they appear. Those of the network boundary are named in packages policy and
// egress.
const (
	ReasonInvalidArgument   Reason = egress.ReasonMalformed
	ReasonInvalidURL        Reason = policy.ReasonInvalidURL
	ReasonScheme            Reason = policy.ReasonScheme
	ReasonURLTooLong        Reason = policy.ReasonURLTooLong
	ReasonCredentials       Reason = policy.ReasonCredentials
	ReasonHost              Reason = policy.ReasonHost
	ReasonPort              Reason = policy.ReasonPort
	ReasonAddress           Reason = policy.ReasonAddress
	ReasonServerName        Reason = egress.ReasonServerName
	ReasonAct               Reason = egress.ReasonReadOnly
	ReasonGuardInput        Reason = "guardrail_input"
	ReasonGuardOutput       Reason = "guardrail_output"
	ReasonToolDenied        Reason = "tool_denied"
	ReasonStale             Reason = "stale_digest"
	ReasonNoElement         Reason = "no_such_element"
	ReasonDisabled          Reason = "element_disabled"
	ReasonProtected         Reason = "field_protected"
	ReasonCovered           Reason = "covered"
	ReasonNotEditable       Reason = "not_editable"
	ReasonNoOption          Reason = "no_such_option"
	ReasonRobots            Reason = "robots_disallowed"
	ReasonDownload          Reason = "download_refused"
	ReasonUnknownSession    Reason = "unknown_session"
	ReasonTenantQuota       Reason = "tenant_quota"
	ReasonActionTimeout     Reason = "action_timeout"
	ReasonPoolFull          Reason = "pool_full"
	ReasonRateLimited       Reason = "rate_limited"
	ReasonDraining          Reason = "draining"
	ReasonNavigationTimeout Reason = "navigation_timeout"
	ReasonCallDeadline      Reason = "call_deadline"
	ReasonDNS               Reason = egress.ReasonDNS
	ReasonTLS               Reason = "tls_error"
	ReasonConnection        Reason = egress.ReasonConnection
	ReasonProxy             Reason = "proxy_unavailable"
	ReasonRedirects         Reason = "too_many_redirects"
	ReasonEmpty             Reason = "empty_response"
	ReasonTooLarge          Reason = "response_too_large"
	ReasonBudget            Reason = egress.ReasonBudget
	ReasonContent           Reason = "unsupported_content"
	ReasonAuth              Reason = "auth_required"
	ReasonBrowserMissing    Reason = "browser_missing"
	ReasonBrowserStart      Reason = "browser_start_failed"
	ReasonBrowserCrashed    Reason = "browser_crashed"
	ReasonSeal              Reason = "seal_unavailable"
	ReasonUnresponsive      Reason = "page_unresponsive"
	ReasonCancelled         Reason = "cancelled"
	ReasonInternal          Reason = "internal"
)

// reasons gives each reason its status and the sentence that a model or a
// person reads. A sentence holds no page text, no resolved address and nothing
// of the machine; what a refusal adds about the host asked for is appended.
var reasons = map[Reason]struct {
	status Status
	hint   string
}{
	ReasonInvalidArgument:   {StatusRejected, "An argument is not valid; see the tool's description."},
	ReasonInvalidURL:        {StatusRejected, "This is not a URL that can be opened; give an absolute http or https URL without spaces or backslashes."},
	ReasonScheme:            {StatusRejected, "Only http and https pages can be opened, and http only where the operator permits it."},
	ReasonURLTooLong:        {StatusRejected, "The URL has more than 2,048 characters."},
	ReasonCredentials:       {StatusRejected, "URLs with a user name or password are not opened; leave that part out."},
	ReasonHost:              {StatusRejected, "This host may not be reached; use another source, or ask the operator to list it."},
	ReasonPort:              {StatusRejected, "This port may not be reached; only the default ports and those the operator lists are open."},
	ReasonAddress:           {StatusRejected, "This address is not on the public internet: loopback, private, link-local and metadata addresses are refused."},
	ReasonServerName:        {StatusRejected, "The connection was not TLS for the host it was opened to."},
	ReasonAct:               {StatusRejected, "Nothing may be changed on this host: it can be read, not acted on."},
	ReasonGuardInput:        {StatusRejected, "The operator's rules do not let this text or address be used."},
	ReasonGuardOutput:       {StatusRejected, "The operator's rules do not let this content be shown."},
	ReasonToolDenied:        {StatusRejected, "The operator does not offer this tool."},
	ReasonStale:             {StatusRejected, "Nothing was done: the element is no longer what it was. Use the fresh state in this answer."},
	ReasonNoElement:         {StatusRejected, "Nothing was done: there is no such element. Use an index and the generation of the last state."},
	ReasonDisabled:          {StatusRejected, "Nothing was done: the element is disabled."},
	ReasonProtected:         {StatusRejected, "Nothing was typed: passwords, one-time codes and payment data are not filled in; ask the user to do it."},
	ReasonCovered:           {StatusRejected, "Nothing was done: something else is on top of the element. Deal with that first."},
	ReasonNotEditable:       {StatusRejected, "Nothing was done: this element cannot be filled in this way."},
	ReasonNoOption:          {StatusRejected, "Nothing was done: there is no such option, or more than one."},
	ReasonUnknownSession:    {StatusRejected, "There is no such session, or it has ended; browser_navigate opens a new one."},
	ReasonRobots:            {StatusRejected, "The site's robots.txt asks programs not to read this page; use another source."},
	ReasonDownload:          {StatusRejected, "The link leads to a file meant to be saved; files are not downloaded."},
	ReasonPoolFull:          {StatusBusy, "As many pages are open as may be; try again in a few seconds."},
	ReasonRateLimited:       {StatusBusy, "This site is not to be asked so often; try again later, or use another source."},
	ReasonTenantQuota:       {StatusBusy, "As much is in use as may be at one time; close a session, or try again later."},
	ReasonDraining:          {StatusBusy, "The service is being shut down; try again in a minute."},
	ReasonActionTimeout:     {StatusTimeout, "The action took too long; look at the page before trying again."},
	ReasonNavigationTimeout: {StatusTimeout, "The page did not load in time; try once more or use another source."},
	ReasonCallDeadline:      {StatusTimeout, "The call took too long; try once more or use another source."},
	ReasonDNS:               {StatusError, "The host name could not be resolved."},
	ReasonTLS:               {StatusError, "The secure connection failed; the certificate or the server is not in order."},
	ReasonConnection:        {StatusError, "The server could not be reached, or broke off the connection."},
	ReasonProxy:             {StatusError, "The egress proxy did not answer; the operator should look at it."},
	ReasonRedirects:         {StatusError, "The page redirects too many times."},
	ReasonEmpty:             {StatusError, "The server answered without any content."},
	ReasonTooLarge:          {StatusError, "The page is too large to be read."},
	ReasonBudget:            {StatusError, "A limit on what one run may send and receive was reached."},
	ReasonContent:           {StatusError, "This type of content cannot be read as a page."},
	ReasonAuth:              {StatusError, "The page asks for a login and shows nothing without one."},
	ReasonBrowserMissing:    {StatusError, "No usable browser was found; the operator can run: bellglass doctor."},
	ReasonBrowserStart:      {StatusError, "The browser could not be started; the operator can run: bellglass doctor."},
	ReasonSeal:              {StatusError, "The browser cannot be sealed as the operator requires, so none was started; the operator can run: bellglass doctor."},
	ReasonBrowserCrashed:    {StatusError, "The browser crashed on this page."},
	ReasonUnresponsive:      {StatusError, "The page keeps the browser so busy that it cannot be read."},
	ReasonCancelled:         {StatusError, "The call was cancelled."},
	ReasonInternal:          {StatusError, "Something went wrong inside bellglass; the log has the details."},
}

// StatusOf returns the status that a reason comes with; of an unknown one,
// [StatusError].
func StatusOf(r Reason) Status {
	if r == "" {
		return StatusOK
	}
	if k, ok := reasons[r]; ok {
		return k.status
	}
	return StatusError
}

// ReasonInfo is a reason with what comes with it.
type ReasonInfo struct {
	Reason Reason
	Status Status
	Hint   string
}

// Reasons returns every reason that a result can carry, by status, then by
// name.
func Reasons() []ReasonInfo {
	order := []Status{StatusRejected, StatusBusy, StatusTimeout, StatusError}
	all := make([]ReasonInfo, 0, len(reasons))
	for r, k := range reasons {
		all = append(all, ReasonInfo{r, k.status, k.hint})
	}
	slices.SortFunc(all, func(a, b ReasonInfo) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Status), slices.Index(order, b.Status)), cmp.Compare(a.Reason, b.Reason))
	})
	return all
}
