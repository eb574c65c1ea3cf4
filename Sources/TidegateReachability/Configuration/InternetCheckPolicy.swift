public import TidegateCore

/// Whether, how and how often the internet is checked.
public struct InternetCheckPolicy: Sendable, Hashable {
    /// False if checks are made only on demand.
    public var isEnabled: Bool
    /// The URLs that are requested; best of at least two operators, over both http and https.
    public var urls: [InternetCheckURL]
    /// From one success to the next check: at least 10 s.
    public var interval: Duration

    /// No checks, the default: no packet is sent to hosts that were not named.
    public static let off = InternetCheckPolicy(isEnabled: false, urls: [])

    /// A policy; by default checks every 5 minutes.
    public init(isEnabled: Bool = true, urls: [InternetCheckURL], interval: Duration = .seconds(300)) {
        self.isEnabled = isEnabled
        self.urls = urls
        self.interval = interval
    }

    package func validate() throws(ConfigurationValueError) {
        try ConfigurationValueError.check(
            !self.isEnabled || !self.urls.isEmpty, "internetCheck.urls", "internet checks are enabled without a URL")
        try ConfigurationValueError.check(
            self.interval >= .seconds(10), "internetCheck.interval",
            "internet checks every \(self.interval) are more than one in 10 seconds")
    }
}

/// A URL whose answer shows whether the internet can be reached.
///
/// Over http the answer has to be 204, an empty 200, or begin with the expected body. A redirect to another host, status
/// 511 and another body than the expected one are a portal's; anything else only means that the URL is no good for this.
/// Over https any 2xx status is good, because the certificate proves the server.
public struct InternetCheckURL: Sendable, Hashable {
    let location: HTTPURL
    /// How the answer's body begins; nil if it is empty.
    public let expectedBody: String?

    /// The URL as it is requested.
    public var text: String { self.location.description }

    /// Parses an absolute http or https URL.
    ///
    /// - Throws: ``ConfigurationValueError``, which quotes the text that is not such a URL.
    public init(_ text: String, expectedBody: String? = nil) throws(ConfigurationValueError) {
        guard let location = try? HTTPURL(text) else {
            throw ConfigurationValueError(
                property: "internetCheck.urls", problem: "\"\(text)\" is not an http:// or https:// URL")
        }
        self.location = location
        self.expectedBody = expectedBody
    }
}
