/// Whether, how and how often a configured target is checked.
public struct TargetCheck: Sendable, Hashable {
    /// What a check does.
    public enum Kind: String, Sendable, CaseIterable, Hashable {
        /// Nothing: only the kernel's route is known.
        case none
        /// Makes a TCP connection.
        case tcp
        /// Makes a TLS handshake, certificate included.
        case tls
        /// Requests a URL; a status below 400 is a success, and redirects are not followed.
        case http
    }

    /// What the check does.
    public var kind: Kind
    /// From one check to the next: at least a second.
    public var interval: Duration
    /// How long a server has to answer: at least 10 ms.
    public var timeout: Duration
    /// What is requested; nil for the root of the host.
    package var location: HTTPURL?

    /// A check; one by http requests the root of the target, over https on port 443.
    public init(_ kind: Kind, interval: Duration = .seconds(15), timeout: Duration = .seconds(5)) {
        (self.kind, self.interval, self.timeout) = (kind, interval, timeout)
    }

    /// A check that requests a URL.
    ///
    /// - Throws: ``ConfigurationValueError``, which quotes the text that is not an http or https URL.
    public init(
        url: String, interval: Duration = .seconds(15), timeout: Duration = .seconds(5)
    ) throws(ConfigurationValueError) {
        self.init(.http, interval: interval, timeout: timeout)
        do throws(HTTPURLError) { self.location = try HTTPURL(url) } catch {
            throw ConfigurationValueError(property: "reachability.targetChecks", problem: "\(error)")
        }
    }

    /// The check of a target without a configured one: by TCP if it has a port, otherwise none.
    public static func standard(for target: Target) -> TargetCheck { TargetCheck(target.port == nil ? .none : .tcp) }

    package func validate(for target: Target) throws(ConfigurationValueError) {
        let property = "reachability.targetChecks[\(target)]"
        try ConfigurationValueError.check(
            self.interval >= .seconds(1), property, "an interval of \(self.interval) is below the minimum of 1 second")
        try ConfigurationValueError.check(
            self.timeout >= .milliseconds(10), property,
            "a timeout of \(self.timeout) is below the minimum of 10 milliseconds")
        let isPossible =
            switch self.kind {
            case .none, .http: true
            case .tcp, .tls: target.port != nil
            }
        try ConfigurationValueError.check(
            isPossible, property, "a check by \(self.kind.rawValue) needs a target with a port")
    }
}
