package import TidegateCore

/// The configuration file; nil and empty values mean the default.
package struct Configuration: Sendable, Hashable {
    package var reachability = Reachability()
    package var transfers = Transfers()
    package var tasks: [ScheduledTask] = []
    package var journal = Journal()
    package var remoteWrite = RemoteWrite()
    package var events = Events()
    package var metrics = Metrics()

    /// The built-in defaults.
    package init() {}

    /// The `reachability` section.
    package struct Reachability: Sendable, Hashable {
        package var excludedInterfaces: [String]?
        package var ipv4Sentinels: [IPAddress]?
        package var ipv6Sentinels: [IPAddress]?
        package var targets: [NamedTarget] = []
        package var meteredInterfaces: [String]?
        package var internetCheck = InternetCheck()
        /// The firewall mark of route lookups.
        package var mark: UInt32?
        /// The user id of route lookups.
        package var uid: UInt32?
    }

    /// The `internet_check` section.
    package struct InternetCheck: Sendable, Hashable {
        package var isEnabled = false
        package var urls: [String] = []
        package var interval: Duration?
    }

    /// A target that is monitored permanently.
    package struct NamedTarget: Sendable, Hashable {
        package var name = ""
        package var host = ""
        package var port: UInt16?
        /// The host and port, parsed; nil if they are invalid.
        package var target: Target? {
            guard let host = try? Target(self.host), host.port == nil else { return nil }
            guard let port = self.port else { return host }
            return try? Target(host.address?.family == .ipv6 ? "[\(host)]:\(port)" : "\(host):\(port)")
        }
    }

    /// The `transfers` section.
    package struct Transfers: Sendable, Hashable {
        package var connectionsPerHost: Int?
        package var connections: Int?
        package var proxy: String?
        package var certificateFile: String?
        package var retry = Retry()
        package var budget = Budget()
        package var gate = Gate()
    }

    /// A retry policy's differences from the default.
    package struct Retry: Sendable, Hashable {
        package var attempts: Int?
        package var base: Duration?
        package var cap: Duration?
        package var longest: DurationText?
        package var statuses: [Int]?

        /// This policy, with the values of `other` for those that are nil.
        package func over(_ other: Retry) -> Retry {
            var merged = other
            merged.attempts = self.attempts ?? other.attempts
            merged.base = self.base ?? other.base
            merged.cap = self.cap ?? other.cap
            merged.longest = self.longest ?? other.longest
            merged.statuses = self.statuses ?? other.statuses
            return merged
        }
    }

    /// The `budget` section: the retry budget of an origin.
    package struct Budget: Sendable, Hashable {
        package var tokens: Double?
        package var retryCost: Double?
        package var connectCost: Double?
        package var refillPerSecond: Double?
    }

    /// The `journal` section: retention times.
    package struct Journal: Sendable, Hashable {
        package var keepCompleted: Duration?
        package var pathEvents: Duration?
    }

    /// The `gate` section: the default gate of tasks.
    package struct Gate: Sendable, Hashable {
        package var require: [Requirement]?
        package var patience: DurationText?
    }
}

/// A request that the daemon makes periodically.
package struct ScheduledTask: Sendable, Hashable {
    /// The request, as it could be submitted.
    package var submission = TaskSubmission(url: "")
    package var headersFile: String?
    package var every: Duration = .zero
    /// The maximum random delay of a run, as a fraction of ``every``.
    package var jitter = 0.1
    package var timeout: DurationText?
    package var retry = Configuration.Retry()

    package var name: String {
        get { self.submission.name ?? "" }
        set { self.submission.name = newValue }
    }

    package init() {}
}
