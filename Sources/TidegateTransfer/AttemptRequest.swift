package import HTTPTypes
package import TidegateCore
package import TidegateLoop

/// The identity of an attempt on the transfer thread.
///
/// The client picks the numbers and never reuses one.
package struct AttemptID: Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// Everything that describes one attempt.
///
/// It is passed by reference: it is passed on many times and read by every callback.
package struct AttemptRequest: Sendable {
    /// The attempt's identity in reports.
    package var id: AttemptID
    /// The URL to request; ``addresses`` belong to its host and port.
    package var url: HTTPURL
    /// The request method in capitals.
    package var method = "GET"
    /// Request fields in order; each replaces a field that libcurl would send.
    package var headers: [HTTPField] = []
    /// The request body.
    package var body = AttemptBody.none
    /// The addresses of the URL's host, tried in order (CURLOPT_RESOLVE); not needed if the host is an address.
    package var addresses: [IPAddress] = []
    /// The destination of a good response's body.
    package var sink: BodySink
    /// The part of the body that exists already, for a Range request.
    @Rare package var resume: ResumePoint? = nil
    /// How long a connection, TLS included, may take.
    package var connectTimeout = Duration.seconds(10)
    /// Whether HTTP/2 may be negotiated over TLS; never multiplexed.
    package var allowsHTTP2 = false
    /// The certificates to trust; attempts with the same ones share one object.
    package var sharedTLS: Indirect<TLSOptions>
    /// The proxy; nil connects directly, whatever the environment says.
    @Rare package var proxy: Proxy? = nil
    /// User and password for Basic authentication (RFC 7617), sent with the first request.
    @Rare package var credentials: Credentials? = nil
    /// The User-Agent field; nil sends none.
    package var userAgent: String?
    /// Whether the response may be compressed; never with ``resume``.
    package var acceptsCompression = false
    /// The rate limit in bytes per second, exact for the response and coarse (libcurl's) for the request.
    package var bytesPerSecondLimit: Int64?
    /// Whether a large body waits for the server's approval (Expect: 100-continue), which a server may refuse with 417
    /// (RFC 9110 section 10.1.1).
    package var awaitsContinue = true
    /// Whether a good response's body waits for ``TransferEngine/proceed(_:into:)``.
    package var awaitsDisposition = false
    /// Receives every body that does not go into a file, once and in order; reading stops while it has no room.
    package var bodyObserver: (any ChunkSink)?
    /// The stage at which to stop: `connect` and `tls` end after the connection or the handshake and send no request.
    package var lastStage = Stage.body
    /// Whether to make a new connection for this attempt and close it afterwards.
    package var usesFreshConnection = false
    /// Whether to fill in ``AttemptOutcome/certificate``.
    package var wantsCertificate = false
    /// The limit of the decoded body in bytes; a good response that exceeds it ends the attempt with `tooLarge`.
    package var maxBodyBytes: Int64?
    /// Receives libcurl's log and the heads as they are on the wire; nil for no log.
    package var wireLog: WireLog?
    /// The share of descriptors that its socket may take.
    package var use = DescriptorShortage.Use.task
    /// The largest TCP segment to accept (TCP_MAXSEG, tcp(7)); nil for the size that fits the link.
    package var segmentSize: Int?
    /// Whether to receive the body whatever the status is, except a redirect's.
    package var takesAnyStatus = false
    /// The encoding of the body, whatever the response says; nil to use the response's field and
    /// ``acceptsCompression``.
    package var bodyCoding: BodyCoding?
    /// Fields for a proxy only, sent with CONNECT.
    package var proxyHeaders: [HTTPField] = []
    /// Whether to fill in ``AttemptOutcome/certificateChain``.
    package var wantsCertificateChain = false
    /// The server and port to connect to instead of the URL's; nil to use the URL's.
    ///
    /// Handshake, certificate and fields are still the URL's. A proxy is asked to connect to this server. The reuse of
    /// connections ignores this property, so it requires ``usesFreshConnection``.
    @Rare package var connectsTo: Target? = nil
    /// The local end of connections; requires ``usesFreshConnection`` for the same reason.
    package var source = AttemptSource()
}

extension AttemptRequest {
    /// A GET of the whole resource.
    package init(
        id: AttemptID, url: HTTPURL, sink: BodySink, tls: Indirect<TLSOptions> = Indirect(TLSOptions())
    ) {
        (self.id, self.url, self.sink, self.sharedTLS) = (id, url, sink, tls)
    }

    /// The certificates to trust.
    package var tls: TLSOptions {
        get { self.sharedTLS.value }
        set { self.sharedTLS = Indirect(newValue) }
    }
}

/// The local end of connections.
package struct AttemptSource: Sendable, Hashable {
    /// The source address; nil lets the kernel choose.
    package var address: IPAddress?
    /// The only interface for their packets (SO_BINDTODEVICE, socket(7)); nil leaves it to the routes.
    package var interface: String?

    /// Creates a source; the default leaves everything to the kernel.
    package init(address: IPAddress? = nil, interface: String? = nil) {
        self.address = address
        self.interface = interface
    }
}

/// The body of a request.
package enum AttemptBody: Sendable {
    case none
    /// Bytes in memory.
    case bytes([UInt8])
    /// The first `length` bytes of a file, opened when the attempt starts.
    ///
    /// A file that turns out shorter ends the attempt with `bodyChanged`.
    case file(FileLocation, length: Int64)
    /// The bytes of a source, read once from its start; without a length they are sent in chunks (RFC 9112 section
    /// 7.1).
    ///
    /// A source that ends before its length ends the attempt with `bodyChanged`.
    case stream(any ChunkSource, length: Int64?)

    var length: Int64 {
        switch self {
        case .none: 0
        case .bytes(let bytes): Int64(bytes.count)
        case .file(_, let length): length
        case .stream(_, let length): length ?? 0
        }
    }

    var isNone: Bool {
        if case .none = self { true } else { false }
    }
}

/// The destination of the body of a good response (2xx with the requested range).
///
/// Other bodies never reach it: their first 64 KiB are in ``AttemptOutcome/diagnosticBody``.
package enum BodySink: Sendable {
    /// Into ``AttemptOutcome/body``; more than `limit` bytes end the attempt with `tooLarge`.
    case memory(limit: Int)
    /// A file, from the resume point's offset or from 0.
    case file(DownloadFile)
    /// An open descriptor (stdout); a full pipe pauses the transfer and never blocks the thread.
    case descriptor(Int32)
    /// A sink of chunks, in order; a full sink pauses the transfer and never blocks the thread.
    case chunks(any ChunkSink)
    /// No destination; the bytes are only counted.
    case discard
}

/// The certificates to trust, and the one to present to the server.
package struct TLSOptions: Sendable, Hashable {
    /// A PEM file of authorities that replaces the system's; nil uses the system's.
    package var caFile: String?
    /// A PEM file with a list of revoked certificates of every authority of the chain; nil checks none.
    package var crlFile: String?
    /// Whether the server must staple an OCSP response about its certificate (RFC 6066 8).
    package var requiresStatus = false
    /// Whether to accept any certificate for any name.
    package var isInsecure: Bool
    /// Whether the certificate must match the host's name.
    package var verifiesName: Bool
    /// Whether the certificate must name hosts as RFC 9525 has it, beside its subject; also applies to a proxy.
    ///
    /// The reuse of connections ignores this property, so it requires ``AttemptRequest/usesFreshConnection``.
    package var requiresNames = false
    /// The pins: one must match, even with ``isInsecure``; an empty list accepts every certificate.
    package var pins: [CertificatePin]
    /// A PEM file with the client certificate for servers that request one; nil presents none.
    package var clientCertificate: String?
    /// A PEM file with its key, without a passphrase; nil if the key is in the same file.
    package var clientKey: String?
    /// Evaluates the certificates instead of the standard verification; nil to use that one.
    package var evaluator: TrustEvaluator?
    /// PEM text that replaces the files.
    package var inline = InlinePEM()
    /// The lowest and the highest TLS version to negotiate.
    package var versions = TLSVersion.v1_2...TLSVersion.v1_3

    package init(
        caFile: String? = nil, isInsecure: Bool = false, verifiesName: Bool = true, pins: [CertificatePin] = [],
        clientCertificate: String? = nil, clientKey: String? = nil, evaluator: TrustEvaluator? = nil
    ) {
        self.caFile = caFile
        self.isInsecure = isInsecure
        self.verifiesName = verifiesName
        self.pins = pins
        self.clientCertificate = clientCertificate
        self.clientKey = clientKey
        self.evaluator = evaluator
    }
}

/// PEM texts that replace files; nil uses the file.
package struct InlinePEM: Sendable, Hashable {
    /// The authorities to trust instead of the system's.
    package var authorities: String?
    /// The client certificate for servers that request one.
    package var certificate: String?
    /// The key of the client certificate, without a passphrase.
    package var key: String?
}

/// Evaluates servers; called on the transfer thread, which waits for the result.
package final class TrustEvaluator: Sendable, Hashable {
    package let evaluate: @Sendable (ServerTrust) -> ServerTrustVerdict

    package init(_ evaluate: @escaping @Sendable (ServerTrust) -> ServerTrustVerdict) { self.evaluate = evaluate }

    package static func == (left: TrustEvaluator, right: TrustEvaluator) -> Bool { left === right }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// A sink that accepts a body in chunks while it has room, and reports when it has room again.
///
/// Called on the transfer thread; must not block.
package protocol ChunkSink: AnyObject, Sendable {
    /// Whether the sink would accept a chunk now.
    ///
    /// After false, nothing is written until ``TransferEngine/sinkHasRoom(_:)``.
    func hasRoom() -> Bool
    /// Accepts a chunk; called only after ``hasRoom()`` returned true.
    func write(_ chunk: [UInt8])
}

/// A source of a request body whose next bytes may not be available yet.
///
/// Called on the transfer thread; must not block.
package protocol ChunkSource: AnyObject, Sendable {
    /// Returns up to `count` bytes.
    ///
    /// After ``ChunkRead/wait``, nothing is read until ``TransferEngine/sourceHasBytes(_:)``.
    func read(upTo count: Int) -> ChunkRead
}

/// The result of reading a ``ChunkSource``.
package enum ChunkRead: Sendable, Hashable {
    /// At least one byte.
    case bytes([UInt8])
    /// No bytes are available yet.
    case wait
    /// The body has ended.
    case end
    /// The body cannot be read; the text says why.
    case failed(String)
}
