internal import TidegateCore

/// Finds how long the addresses of a name are valid, by querying the servers that the system uses.
///
/// The system's own lookup does not report it (getaddrinfo(3)). A server's answer counts only if it has exactly the
/// same addresses: those from a hosts file or multicast DNS have no time to live.
struct TTLMachine {
    enum Step: Hashable {
        case ask(name: String, DNSQuestion.RecordType, server: IPAddress)
        case finish(Duration?)
    }

    // glibc's former limit.
    private static let longestSearch = 6

    private let known: [AddressFamily: Set<IPAddress>]
    private var names: ArraySlice<String>
    private var servers: ArraySlice<IPAddress>
    private var families: [AddressFamily]
    private var shortest = DNSTTL.bounds.upperBound

    init(_ name: String, _ addresses: [IPAddress], _ settings: ResolverSettings) {
        let known = Dictionary(grouping: addresses, by: \.family).mapValues(Set.init)
        self.known = known
        self.families = AddressFamily.allCases.filter { known[$0] != nil }
        self.servers = settings.nameservers[...]
        self.names = TTLMachine.isForServers(name) ? settings.candidates(for: name)[...] : []
        self.names = self.names.prefix(TTLMachine.longestSearch)
    }

    // These two belong to the host and to the link (RFC 6761 6.3, RFC 6762 3).
    private static func isForServers(_ name: String) -> Bool {
        let name = name.hasSuffix(".") ? name.dropLast() : name[...]
        return name != "localhost" && !name.hasSuffix(".localhost") && !name.hasSuffix(".local")
    }

    /// The first question, or the next one after an answer.
    func step() -> Step {
        guard let family = self.families.first else { return .finish(DNSTTL.clamped(self.shortest)) }
        guard let name = self.names.first, let server = self.servers.first else { return .finish(nil) }
        return .ask(name: name, DNSQuestion.RecordType(family), server: server)
    }

    /// Evaluates an answer.
    mutating func receive(_ outcome: DNSOutcome) {
        switch outcome {
        case .answered(let addresses, let timeToLive):
            guard let family = self.families.first, self.known[family] == Set(addresses) else {
                self.names = []
                return
            }
            self.shortest = min(self.shortest, timeToLive)
            self.families.removeFirst()
            self.names = self.names.prefix(1)
        case .nameNotFound, .noData: self.names = self.names.dropFirst()
        case .failed, .refused, .unreachable, .timedOut: self.servers = self.servers.dropFirst()
        }
    }
}
