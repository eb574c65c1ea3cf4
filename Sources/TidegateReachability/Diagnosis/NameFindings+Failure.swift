internal import TidegateCore
internal import TidegateNetwork

extension NameFindings {
    /// Why the name has no address, as its servers say.
    func failure(_ reason: UnreachableReason, _ wanted: AddressFamily?) -> LookupFailure {
        switch reason {
        case .resolverTimeout: return .silent(self.silentServers)
        case .nameNotFound: return self.missing(wanted)
        default: break
        }
        if self.namesNoServer { return .noServer }
        for server in self.servers {
            for case .failed(let code) in server.outcomes { return .fails(server.server, code: code) }
        }
        let refusing = self.servers.first { $0.outcomes.contains(.refused) }
        return refusing.map { .refused($0.server) } ?? .fails(self.servers.first?.server, code: nil)
    }

    /// True if every server is on this host's own link or on this host itself.
    var isForwarded: Bool {
        !self.servers.isEmpty
            && self.servers.allSatisfy { server in
                server.verdict.path.map { $0.gateway == nil && !server.verdict.notes.contains(.tunnel) } ?? false
            }
    }

    private func missing(_ wanted: AddressFamily?) -> LookupFailure {
        // An address of the other version proves that the resolver works.
        if !self.addresses.isEmpty { return .noRecord(self.name, of: wanted) }
        let denying = self.servers.first { $0.answers.values.contains(.nameNotFound) }
        if denying == nil, self.servers.contains(where: { $0.answers.values.contains(.noData) }) {
            return .noRecord(self.name, of: nil)
        }
        let isKnownElsewhere = AddressFamily.allCases.contains { !self.answered($0).isEmpty }
        return .denied(
            self.name, by: denying?.server,
            deniesOthers: denying.map { isKnownElsewhere || $0.control == .nameNotFound } ?? false)
    }

    /// The servers that were asked and did not answer.
    var silentServers: [IPAddress] { self.servers.filter { $0.outcomes.contains(.timedOut) }.map(\.server) }

    /// True if `address` stands in the hosts file under this name.
    func isFromHostsFile(_ address: IPAddress) -> Bool { self.hostsFile.contains(address) }

    /// What the servers answer for a family.
    func answered(_ family: AddressFamily) -> [IPAddress] {
        let all = self.servers.flatMap { server -> [IPAddress] in
            guard case .answered(let addresses, _)? = server.answers[DNSQuestion.RecordType(family)] else { return [] }
            return addresses
        }
        return all.reduce(into: []) { if !$0.contains($1) { $0.append($1) } }
    }

    /// An answer for a public name that no public name has, and the server that gave it.
    var blocked: (server: IPAddress?, answer: IPAddress)? {
        guard self.name != "localhost", !self.name.hasSuffix(".localhost"), self.hostsFile.isEmpty,
            let answer = self.addresses.first, self.addresses.allSatisfy(\.isNoPublicAnswer)
        else { return nil }
        let server = self.servers.first { $0.answers.values.contains { $0.contains(answer) } }
        return (server?.server, answer)
    }
}

extension DNSOutcome {
    fileprivate func contains(_ address: IPAddress) -> Bool {
        guard case .answered(let addresses, _) = self else { return false }
        return addresses.contains(address)
    }
}

extension IPAddress {
    /// 0.0.0.0, :: or a loopback address: what filters answer instead of an address.
    fileprivate var isNoPublicAnswer: Bool { self.isLoopback || self.octets.allSatisfy { $0 == 0 } }
}
