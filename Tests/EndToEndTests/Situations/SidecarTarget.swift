/// A configured target of the lab's sidecar.
struct SidecarTarget: Sendable {
    let name: String
    /// What `explain` is asked about.
    let subject: String
    private let keys: String
    /// True if it is reached where there is no outage.
    let isHealthy: Bool
    /// True if no name has to be resolved.
    var isAddress: Bool { !self.subject.contains("example") }

    private init(_ name: String, url: String) {
        (self.name, self.subject, self.keys, self.isHealthy) = (name, url, "url: \"\(url)\"", true)
    }

    private init(_ name: String, _ host: String, _ port: Int, isHealthy: Bool) {
        (self.name, self.subject, self.keys) = (name, "\(host):\(port)", "host: \"\(host)\", port: \(port)")
        self.isHealthy = isHealthy
    }

    static let all = [
        SidecarTarget("web", url: Situations.page), SidecarTarget("named", url: "http://v4.example/"),
        SidecarTarget("address", "203.0.113.10", 80, isHealthy: true),
        // S8, S29, S32 and S39: without an outage, too.
        SidecarTarget("own", "127.0.0.1", 81, isHealthy: false),
        SidecarTarget("closed", "203.0.113.10", 81, isHealthy: false),
        SidecarTarget("filtered", "203.0.113.10", 9999, isHealthy: false),
        SidecarTarget("absent", "203.0.113.11", 80, isHealthy: false),
    ]

    /// True if events of this scope are about it, and it is never reached.
    func fails(_ scope: String) -> Bool { !self.isHealthy && scope == self.subject }

    var configuration: String { "{name: \(self.name), \(self.keys), interval: 1s, timeout: 2s}" }
}
