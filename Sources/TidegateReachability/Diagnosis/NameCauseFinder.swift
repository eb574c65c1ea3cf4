internal import TidegateCore
internal import TidegateNetwork

/// Finds the cause behind a failed look-up.
struct NameCauseFinder {
    let findings: LadderFindings
    let path: PathFindings?

    func cause(of reason: UnreachableReason, _ finder: CauseFinder) -> Cause {
        guard let name = self.findings.name else { return .resolver(.silent([])) }
        switch reason {
        case .nameNotFound: return self.missing(name)
        case .resolverTimeout: return finder.silence(.resolvers(name.silentServers))
        case .resolverNoRoute: return self.unreachable(name, finder)
        default: return self.failure(name)
        }
    }

    private func missing(_ name: NameFindings) -> Cause {
        // An address of the other version proves that the resolver works.
        if !name.addresses.isEmpty { return .thisHost(.missingRecord(name.name, of: self.wantedFamily)) }
        let denying = name.servers.first { $0.answers.values.contains(.nameNotFound) }
        let isKnownElsewhere = AddressFamily.allCases.contains { !name.answered($0).isEmpty }
        if denying == nil, name.servers.contains(where: { $0.answers.values.contains(.noData) }) {
            return .thisHost(.missingRecord(name.name, of: nil))
        }
        if let server = denying, isKnownElsewhere || server.control == .nameNotFound {
            return .resolver(.denies(server.server, name: name.name))
        }
        return .thisHost(.nameNotFound(name.name, resolver: denying?.server))
    }

    private var wantedFamily: AddressFamily? { self.findings.families.count == 1 ? self.findings.families.first : nil }

    private func unreachable(_ name: NameFindings, _ finder: CauseFinder) -> Cause {
        for server in name.servers {
            for case .unreachable(let refusal?) in server.outcomes {
                return finder.cause(of: refusal, from: server.verdict.path?.source, server.server)
            }
        }
        return .thisHost(.kernel(finder.refusal(.resolverNoRoute, nil)))
    }

    private func failure(_ name: NameFindings) -> Cause {
        let refusing = name.servers.first { $0.outcomes.contains(.refused) }
        if name.namesNoServer { return .thisHost(.noNameserver) }
        for server in name.servers {
            for case .failed(let code) in server.outcomes { return .resolver(.fails(server.server, code: code)) }
        }
        if let server = refusing { return .resolver(.refused(server.server)) }
        return .resolver(.fails(name.servers.first?.server, code: nil))
    }
}

extension NameFindings {
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
