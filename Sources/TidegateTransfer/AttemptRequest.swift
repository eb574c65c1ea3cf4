package import HTTPTypes
package import TidegateCore

/// Names one attempt on the transfer thread.
///
/// The client picks the numbers and never uses one twice.
package struct AttemptID: Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
}

/// Everything about one attempt.
///
/// It is put behind one reference before it starts: it is passed on many times and read by every callback.
package struct AttemptRequest: Sendable {
    /// The attempt's name in reports.
    package var id: AttemptID
    /// What is requested; its host and port say what ``addresses`` belong to.
    package var url: HTTPURL
    /// The request method in capitals.
    package var method = "GET"
    /// Request fields in order; each takes the place of a field that libcurl would send.
    package var headers: [HTTPField] = []
    /// What is sent.
    package var body = AttemptBody.none
    /// The addresses of the URL's host, tried in order (CURLOPT_RESOLVE); not needed for a literal address.
    package var addresses: [IPAddress] = []
    /// Where a good response's body goes.
    package var sink: BodySink
    /// What is held already, for a Range request.
    @Rare package var resume: ResumePoint? = nil
    /// How long a connection, TLS included, may take.
    package var connectTimeout = Duration.seconds(10)
    /// Whether HTTP/2 may be negotiated over TLS; never multiplexed.
    package var allowsHTTP2 = false
    /// What certificates to trust; attempts that trust the same share one object.
    package var sharedTLS: Indirect<TLSOptions>
    /// The proxy; nil goes direct whatever the environment says.
    @Rare package var proxy: Proxy? = nil
    /// User and password for Basic authentication (RFC 7617), sent with the first request.
    @Rare package var credentials: Credentials? = nil
    /// The User-Agent field; nil sends none.
    package var userAgent: String?
    /// Whether the response may be compressed; never with ``resume``.
    package var acceptsCompression = false
    /// The rate limit in bytes per second, exact for the response and coarse (libcurl's) for the request.
    package var bytesPerSecondLimit: Int64?
    /// Whether a large body waits for the server's go-ahead (Expect: 100-continue); a server may refuse that with
    /// 417 (RFC 9110 section 10.1.1).
    package var awaitsContinue = true
    /// Whether a good response's body waits for ``TransferEngine/proceed(_:into:)``.
    package var awaitsDisposition = false
    /// Is shown what goes anywhere but into a file, once and in order.
    package var bodyObserver: (any ChunkSink)?
    /// Where to stop: `connect` and `tls` end after the connection or the handshake, and send nothing.
    package var lastStage = Stage.body
    /// Whether a new connection is made for this attempt and closed at its end.
    package var usesFreshConnection = false
    /// Whether ``AttemptOutcome/certificate`` is wanted.
    package var wantsCertificate = false
    /// How many bytes the whole body may have, decoded; more of a good response end the attempt with `tooLarge`.
    package var maxBodyBytes: Int64?
    /// Is given what libcurl says and the heads as they are on the wire; nil for nothing.
    package var wireLog: WireLog?
    /// The largest TCP segment that is accepted (TCP_MAXSEG, tcp(7)); nil for what fits the link.
    package var segmentSize: Int?
    /// Whether a body is wanted whatever the status is, but for that of a redirect.
    package var takesAnyStatus = false
    /// How the body is encoded, whatever the response says of it; nil to go by that and ``acceptsCompression``.
    package var bodyCoding: BodyCoding?
    /// Fields that only a proxy sees, with CONNECT.
    package var proxyHeaders: [HTTPField] = []
    /// Whether ``AttemptOutcome/certificateChain`` is wanted.
    package var wantsCertificateChain = false
    /// The server that is connected to, with its port, in place of the one that the URL names; nil for that one.
    ///
    /// Handshake, certificate and fields are for the URL's. A proxy is asked for this one. Kept connections are not
    /// told apart by it: with it comes ``usesFreshConnection``.
    @Rare package var connectsTo: Target? = nil
    /// Where connections leave this host; with ``usesFreshConnection``, for the same reason.
    package var source = AttemptSource()
}

extension AttemptRequest {
    /// A GET of all of it.
    package init(
        id: AttemptID, url: HTTPURL, sink: BodySink, tls: Indirect<TLSOptions> = Indirect(TLSOptions())
    ) {
        (self.id, self.url, self.sink, self.sharedTLS) = (id, url, sink, tls)
    }

    /// What certificates to trust.
    package var tls: TLSOptions {
        get { self.sharedTLS.value }
        set { self.sharedTLS = Indirect(newValue) }
    }
}

/// Where connections leave this host.
package struct AttemptSource: Sendable, Hashable {
    /// The address that they come from; nil leaves that to the kernel.
    package var address: IPAddress?
    /// The only interface that their packets may leave by (SO_BINDTODEVICE, socket(7)); nil leaves that to the routes.
    package var interface: String?

    /// The kernel's choice.
    package init(address: IPAddress? = nil, interface: String? = nil) {
        self.address = address
        self.interface = interface
    }
}

/// What a request carries.
package enum AttemptBody: Sendable {
    case none
    /// Bytes in memory.
    case bytes([UInt8])
    /// The first `length` bytes of a file, opened when the attempt starts.
    ///
    /// A file that turns out shorter ends the attempt with `bodyChanged`.
    case file(FileLocation, length: Int64)
    /// What a source returns, from its start, once; without a length in chunks (RFC 9112 section 7.1).
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

/// Where the body of a good response (2xx, and the range requested) goes.
///
/// Other bodies never reach it: their first 64 KiB are in ``AttemptOutcome/diagnosticBody``.
package enum BodySink: Sendable {
    /// Into ``AttemptOutcome/body``; more than `limit` bytes end the attempt with `tooLarge`.
    case memory(limit: Int)
    /// Into a file, from the resume point's offset or from 0.
    case file(DownloadFile)
    /// Into an open descriptor (stdout); a full pipe pauses the transfer and never blocks the thread.
    case descriptor(Int32)
    /// To a sink of chunks, in order; one without room pauses the transfer and never blocks the thread.
    case chunks(any ChunkSink)
    /// Nowhere; the bytes are counted.
    case discard
}

/// What certificates to trust, and what to show the server.
package struct TLSOptions: Sendable, Hashable {
    /// A PEM file of authorities used instead of the system's; nil uses the system's.
    package var caFile: String?
    /// Whether any certificate is accepted for any name.
    package var isInsecure: Bool
    /// Whether the certificate has to be for the host's name.
    package var verifiesName: Bool
    /// A certificate must match one of these pins, even when ``isInsecure``; empty accepts every certificate.
    package var pins: [CertificatePin]
    /// A PEM file with the certificate that is shown to a server that asks for one; nil shows none.
    package var clientCertificate: String?
    /// A PEM file with its key, without a passphrase; nil if it is in the same file.
    package var clientKey: String?
    /// Judges the certificates in place of the verification; nil if that decides.
    package var evaluator: TrustEvaluator?
    /// What stands in for the files.
    package var inline = InlinePEM()
    /// The lowest and the highest version of TLS that is spoken.
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

/// Texts in PEM that are used in place of files; nil leaves it to the file.
package struct InlinePEM: Sendable, Hashable {
    /// The authorities that are trusted instead of the system's.
    package var authorities: String?
    /// The certificate that is shown to a server that asks for one.
    package var certificate: String?
    /// Its key, without a passphrase.
    package var key: String?
}

/// Judges servers; called on the transfer thread, which does nothing else meanwhile.
package final class TrustEvaluator: Sendable, Hashable {
    package let evaluate: @Sendable (ServerTrust) -> ServerTrustVerdict

    package init(_ evaluate: @escaping @Sendable (ServerTrust) -> ServerTrustVerdict) { self.evaluate = evaluate }

    package static func == (left: TrustEvaluator, right: TrustEvaluator) -> Bool { left === right }

    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

/// A sink that takes a body in chunks while it has room, and reports when it has room again.
///
/// Called on the transfer thread; must not block.
package protocol ChunkSink: AnyObject, Sendable {
    /// Whether a chunk would be taken now.
    ///
    /// After a no nothing is written until ``TransferEngine/sinkHasRoom(_:)``.
    func hasRoom() -> Bool
    /// Takes a chunk; called only after ``hasRoom()`` said yes.
    func write(_ chunk: [UInt8])
}

/// A source of a request's body that may not have the next bytes yet.
///
/// Called on the transfer thread; must not block.
package protocol ChunkSource: AnyObject, Sendable {
    /// Up to `count` bytes.
    ///
    /// After ``ChunkRead/wait`` nothing is read until ``TransferEngine/sourceHasBytes(_:)``.
    func read(upTo count: Int) -> ChunkRead
}

/// The result of reading a ``ChunkSource``.
package enum ChunkRead: Sendable, Hashable {
    /// At least one byte.
    case bytes([UInt8])
    /// Nothing yet.
    case wait
    /// There is no more.
    case end
    /// The body cannot be read; the text says why.
    case failed(String)
}
