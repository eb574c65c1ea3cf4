/// One check of a web server, as a rung needs it: a connection, a handshake or a response, and nothing repeated.
package enum HTTPCheck {
    /// What is checked.
    package struct Request: Sendable, Hashable {
        /// The URL; only its host and port matter if the check ends before the request.
        package var url: HTTPURL
        /// The address to connect to; the URL's host still names the server (SNI, Host).
        package var address: IPAddress
        /// Where the check ends: `connect`, `tls`, or `body` for a whole response; redirects are not followed.
        package var lastStage: Stage
        /// The request method.
        package var method: String
        /// When to give up, from the start.
        package var limit: Duration
        /// The proxy to go through, whose address ``address`` is then; nil goes direct.
        package var proxy: Proxy?
        /// When to give up connecting, from the start; nil for ``limit``.
        package var connectLimit: Duration?
        /// The largest TCP segment that is accepted; nil for what fits the link.
        package var segmentSize: Int?
        /// How much of the answer's body to keep.
        package var bodyLimit: Int

        /// A request from its parts; the defaults request a whole response by GET and keep none of its body.
        package init(
            url: HTTPURL, address: IPAddress, lastStage: Stage = .body, method: String = "GET",
            limit: Duration = .seconds(10), bodyLimit: Int = 0
        ) {
            (self.url, self.address, self.lastStage, self.method) = (url, address, lastStage, method)
            (self.limit, self.bodyLimit) = (limit, bodyLimit)
        }
    }

    /// What a check found.
    package struct Result: Sendable, Hashable {
        /// The last stage that succeeded: `connect`, `tls`, or `response` if a head came; nil without a connection.
        package var reached: Stage?
        /// Why it came no further; nil if it came as far as requested.
        package var failure: TaskFailure?
        /// How the socket failed, if it did.
        package var socketError: SocketError?
        /// The ICMP error that refused the connection, if one did.
        package var refusal: ICMPError?
        /// What went wrong, without a final full stop; empty if nothing did.
        package var text = ""
        /// The status, 100 to 599; nil if none came.
        package var status: Int?
        /// The Location field, if one came.
        package var location: String?
        /// The first bytes of the body, as many as were requested.
        package var body: [UInt8] = []
        /// The phases that were run.
        package var phases = PhaseDurations()
        /// The local address of the connection; nil if there was none.
        package var local: IPAddress?
        /// The server's certificate, if one was shown.
        package var certificate: CertificateSummary?
        /// Why the certificate is not accepted here; nil if it is, or if none was shown.
        package var certificateError: CertificateError?
        /// Why the handshake failed, if not for the certificate; nil if it did not.
        package var handshake: HandshakeFailure?

        /// True if the check got through this stage.
        package func hasReached(_ stage: Stage) -> Bool { self.reached.map { $0 >= stage } ?? false }
    }
}

extension HTTPCheck.Result {
    /// The result of a check that came as far as `reached`.
    package init(reached: Stage?) { self.reached = reached }
}

/// Checks web servers for the rungs tcp, tls, http and internet; the front door passes one in.
package protocol HTTPChecker: Sendable {
    /// Checks once: no gate, no retry, no event. Ends within the request's limit and a second.
    ///
    /// `onWire` is called, on any thread, when the request is about to be sent: connection and handshake are done, and
    /// from then on a server takes its time.
    func check(_ request: HTTPCheck.Request, onWire: @escaping @Sendable () -> Void) async -> HTTPCheck.Result
}

extension HTTPChecker {
    /// Checks once.
    package func check(_ request: HTTPCheck.Request) async -> HTTPCheck.Result { await self.check(request) {} }
}
