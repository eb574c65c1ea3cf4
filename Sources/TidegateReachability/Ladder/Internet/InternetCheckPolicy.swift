internal import TidegateCore

/// Whether, how and how often the internet beyond the first router is looked for.
public struct InternetCheckPolicy: Sendable, Hashable {
    /// False where checks are made only when somebody asks for them.
    public let isEnabled: Bool
    /// What is asked; best at least two operators, over http and https both.
    public let urls: [InternetCheckURL]
    /// From one success to the next check: at least 10 s.
    public let interval: Duration

    /// No checks at all, the default: nothing is sent to anybody who was not named.
    public static let off = InternetCheckPolicy()

    private init() {
        self.isEnabled = false
        self.urls = []
        self.interval = .seconds(300)
    }

    /// A policy from its parts.
    ///
    /// - Throws: ``ReachabilityConfigurationError`` where checks are enabled without a URL, or come too often.
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

/// A URL that tells by its answer whether the internet is there.
///
/// Over http the answer has to be 204, an empty 200, or begin with the expected body: anything else is a portal's. Over
/// https any good status will do, because the certificate says whose answer it is.
public struct InternetCheckURL: Sendable, Hashable {
    let location: HTTPURL
    /// How the answer's body begins; nil where it is empty.
    public let expectedBody: String?

    /// The URL as it is requested.
    public var text: String { self.location.description }

    /// Parses an absolute http or https URL.
    ///
    /// - Throws: ``ReachabilityConfigurationError``, which quotes what is no such URL.
    public init(_ text: String, expectedBody: String? = nil) throws(ReachabilityConfigurationError) {
        guard let location = try? HTTPURL(text) else { throw .invalidCheckURL(text) }
        self.location = location
        self.expectedBody = expectedBody
    }
}
