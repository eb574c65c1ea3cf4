internal import TidegateCore

/// Whether, how and how often the internet is checked.
public struct InternetCheckPolicy: Sendable, Hashable {
    /// False if checks are made only on demand.
    public let isEnabled: Bool
    /// The URLs that are requested; best of at least two operators, over both http and https.
    public let urls: [InternetCheckURL]
    /// From one success to the next check: at least 10 s.
    public let interval: Duration

    /// No checks, the default: no packet is sent to hosts that were not named.
    public static let off = InternetCheckPolicy()

    private init() {
        self.isEnabled = false
        self.urls = []
        self.interval = .seconds(300)
    }

    /// A policy from its parts.
    ///
    /// - Throws: ``ReachabilityConfigurationError`` if checks are enabled without a URL, or are too frequent.
    public init(
        isEnabled: Bool = true, urls: [InternetCheckURL], interval: Duration = .seconds(300)
    ) throws(ReachabilityConfigurationError) {
        guard !isEnabled || !urls.isEmpty else { throw .noCheckURL }
        guard interval >= .seconds(10) else { throw .checksTooOften(interval) }
        self.isEnabled = isEnabled
        self.urls = urls
        self.interval = interval
    }
}

/// A URL whose answer shows whether the internet can be reached.
///
/// Over http the answer has to be 204, an empty 200, or begin with the expected body: anything else is a portal's. Over
/// https any 2xx status is good, because the certificate proves the server.
public struct InternetCheckURL: Sendable, Hashable {
    let location: HTTPURL
    /// How the answer's body begins; nil if it is empty.
    public let expectedBody: String?

    /// The URL as it is requested.
    public var text: String { self.location.description }

    /// Parses an absolute http or https URL.
    ///
    /// - Throws: ``ReachabilityConfigurationError``, which quotes the text that is not such a URL.
    public init(_ text: String, expectedBody: String? = nil) throws(ReachabilityConfigurationError) {
        guard let location = try? HTTPURL(text) else { throw .invalidCheckURL(text) }
        self.location = location
        self.expectedBody = expectedBody
    }
}
