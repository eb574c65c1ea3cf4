/// What is wrong, as exactly as the evidence allows; the case names the responsible party.
///
/// Party, sentence and advice follow from the cause and never from the rung that showed it.
package enum Cause: Sendable, Hashable, CustomStringConvertible {
    case thisHost(HostCause)
    case router(RouterCause)
    case provider(ProviderCause)
    case resolver(ResolverCause)
    case onTheWay(PathCause)
    case server(ServerCause)
    /// The target works, and is slow.
    case slow(SlowCause)
    /// The responsible party is unknown.
    case unknown(UnknownCause)

    /// The responsible party.
    package var party: FaultParty {
        switch self {
        case .thisHost: .mine
        case .router: .gateway
        case .provider: .upstream
        case .resolver(let cause): cause.isOfThisHost ? .mine : .resolver
        case .onTheWay: .path
        case .server: .theirs
        case .slow(let cause): cause.party
        case .unknown: .unknown
        }
    }

    /// The cause for programs, as JSON has it: `certificateExpired`.
    package var code: String { self.texts.code }

    /// What is wrong, as a clause without a full stop: `the certificate expired on 1 March 2026`.
    package var description: String { self.texts.clause }

    private var texts: CauseTexts {
        switch self {
        case .thisHost(let cause): cause.texts
        case .router(let cause): cause.texts
        case .provider(let cause): cause.texts
        case .resolver(let cause): cause.texts
        case .onTheWay(let cause): cause.texts
        case .server(let cause): cause.texts()
        case .slow(let cause): cause.texts
        case .unknown(let cause): cause.texts
        }
    }

    /// Party and cause in one sentence of at most 90 characters.
    ///
    /// Such as `The server 203.0.113.10 refuses connections on port 80.`
    ///
    /// `target` names the server, unless the name is too long for one line.
    package func sentence(about target: Target?) -> String {
        let server = target.map { "the server \($0.shownHost)" } ?? "the server"
        let clause =
            switch self {
            case .router(.silent(let address, let link, lastConfirmed: _)):
                "your router \(address) does not answer on \(link)"
            case .provider(.nothingBeyond(let gateway)):
                "your provider is down: \(gateway?.description ?? "your router") answers, nothing beyond it does"
            case .provider(.checksFail): "internet checks fail: probably your provider"
            case .resolver(.silent(let servers)) where servers.count > 1:
                "the resolvers do not answer: \(servers[0]), \(servers[1])"
                    + (servers.count > 2 ? " and \(servers.count - 2) more" : "")
            case .onTheWay(.ends(let router?)): "the way ends after \(router)"
            case .server(.refused): "\(server) refuses connections\(target?.port.map { " on port \($0)" } ?? "")"
            case .server(let cause): Sentence.led(by: server, cause.texts(of: server).clause)
            case .slow(let cause): cause.texts.clause
            case .thisHost, .router, .provider, .resolver, .onTheWay, .unknown:
                Sentence.led(by: self.party.description, self.description)
            }
        let text = Sentence.fitting(clause)
        return target != nil && text.contains("…") ? self.sentence(about: nil) : text
    }
}

/// Sentences that stand alone on one line.
package enum Sentence {
    /// In characters, with the full stop.
    package static let maxLength = 90

    /// A clause as a sentence that fits.
    ///
    /// A long clause loses first the text in parentheses or after a semicolon, then the middle of its longest words
    /// (addresses, names, URLs), and last the text after a comma.
    package static func fitting(_ clause: String) -> String {
        var text: String = clause.prefix(1).uppercased() + clause.dropFirst()
        for (shortest, separators) in [(Int.max, ["; ", " ("]), (20, [", "]), (12, [])] as [(Int, [String])] {
            while text.count >= self.maxLength,
                let word = (text.split(separator: " ") as [Substring]).max(by: { $0.count < $1.count }),
                word.count > shortest
            {
                let kept = max(shortest, word.count - (text.count + 1 - self.maxLength)) - 1
                let short = "\(word.prefix(kept - kept / 2))…\(word.suffix(kept / 2))"
                text.replaceSubrange(word.startIndex..<word.endIndex, with: short)
            }
            for separator in separators {
                while text.count >= self.maxLength, let end = text.ranges(of: separator).last {
                    text = String(text[..<end.lowerBound])
                }
            }
        }
        if text.count >= self.maxLength { text = text.prefix(self.maxLength - 2) + "…" }
        return text.hasSuffix(".") ? text : text + "."
    }

    /// A clause with its party first, unless the clause names it or there is no party.
    package static func led(by party: String, _ clause: String) -> String {
        clause.contains(party) || party.isEmpty ? clause : "\(party): \(clause)"
    }
}

/// A cause for programs and for people.
typealias CauseTexts = (code: String, clause: String)

/// What is wrong with the gateway on this host's link.
package enum RouterCause: Sendable, Hashable {
    /// No host on the link has its address.
    case absent(IPAddress, link: String)
    /// It was there and does not answer; `lastConfirmed` is how long ago it last did, if the kernel still knows.
    case silent(IPAddress, link: String, lastConfirmed: Duration?)
    /// Its firewall forbids it.
    case prohibits(ICMPError)

    fileprivate var texts: CauseTexts {
        switch self {
        case .absent(let address, let link):
            ("gatewayAbsent", "no host on \(link) has the gateway's address \(address)")
        case .silent(let address, link: _, let confirmed):
            (
                "gatewaySilent",
                "the gateway \(address) does not answer"
                    + (confirmed.map { ", last confirmed \($0.shortText) ago" } ?? "")
            )
        case .prohibits(let error):
            ("gatewayProhibits", "the firewall of \(error.sender(or: "the gateway")) forbids it (\(error.number))")
        }
    }
}

/// What is wrong with the network behind the gateway.
package enum ProviderCause: Sendable, Hashable {
    /// The gateway answers, and nothing beyond it does.
    case nothingBeyond(gateway: IPAddress?)
    /// Packets to different networks get no further than this router.
    case ends(after: IPAddress)
    /// The gateway has no way to what lies beyond it.
    case noRoute(ICMPError)
    /// The internet checks fail.
    case checksFail
    /// A captive portal answers, and redirects there if it says where.
    case portal(location: String?)
    /// A point-to-point line takes packets, and brings none back.
    case silentLine(String)

    fileprivate var texts: CauseTexts {
        switch self {
        case .nothingBeyond(let gateway):
            (
                "nothingBeyondGateway",
                "\(gateway.map { "the gateway \($0)" } ?? "the gateway") answers, and nothing beyond it does"
            )
        case .ends(let router): ("providerEnds", "packets get no further than \(router), wherever they go")
        case .noRoute(let error) where error.kind == .noRoute:
            ("gatewayNoRoute", "\(error.sender(or: "the gateway")) has no route there (\(error.number))")
        case .noRoute(let error):
            ("gatewayNoRoute", "the gateway says: \(error.kind) (\(error.number)), and nothing beyond it answers")
        case .checksFail: ("internetChecksFail", "internet checks fail")
        case .silentLine(let link): ("lineSilent", "nothing comes back over the line \(link)")
        case .portal(let location):
            ("portal", "a captive portal answers" + (location.map { ": it redirects to \($0)" } ?? ""))
        }
    }
}

/// What is wrong with the name resolvers.
package enum ResolverCause: Sendable, Hashable {
    /// No resolver answers, while a path beyond the gateway works.
    case silent([IPAddress])
    /// Nothing listens at the resolver's port.
    case refused(IPAddress)
    /// It answers with a failure: `SERVFAIL`, `REFUSED`.
    case fails(IPAddress?, code: String?)
    /// It denies names that exist.
    case denies(IPAddress?, name: String)
    /// It answers with an address that no public name has.
    case blocks(IPAddress?, name: String, answer: IPAddress)
    /// It answers other questions, and leaves those about this name unanswered.
    case silentAbout(IPAddress, name: String)

    /// True if the resolver is a program of this host, such as systemd-resolved or dnsmasq.
    package var isOfThisHost: Bool {
        switch self {
        case .silent(let servers): !servers.isEmpty && servers.allSatisfy(\.isLoopback)
        case .refused(let server), .silentAbout(let server, name: _): server.isLoopback
        case .fails(let server, code: _): server?.isLoopback ?? false
        case .denies, .blocks: false
        }
    }

    fileprivate var texts: CauseTexts {
        switch self {
        case .silent(let servers):
            (
                "resolverSilent",
                servers.count == 1 ? "\(Self.subject(servers[0])) does not answer" : "no resolver answers"
            )
        case .silentAbout(let server, let name):
            ("resolverSilentAbout", "\(Self.subject(server)) answers for other names, and not for \(name)")
        case .refused(let server): ("resolverRefused", "nothing listens at port 53 of \(server)")
        case .fails(let server, let code):
            ("resolverFails", "\(Self.subject(server)) answers with \(code ?? "a failure")")
        case .denies(let server, let name):
            ("resolverDenies", "\(Self.subject(server)) denies names that exist, \(name) too")
        case .blocks(let server, let name, let answer):
            ("resolverBlocks", "\(Self.subject(server)) blocks \(name): it answers \(answer)")
        }
    }

    private static func subject(_ server: IPAddress?) -> String {
        server.map { $0.isLoopback ? "this host's resolver \($0)" : "the resolver \($0)" } ?? "the resolver"
    }
}

/// What is wrong between the provider and the target.
package enum PathCause: Sendable, Hashable {
    /// Packets loop.
    case loop(at: IPAddress?)
    /// A router on the way forbids it.
    case prohibits(ICMPError)
    /// A router on the way has no route.
    case noRoute(ICMPError)
    /// Packets end somewhere behind this router, while other hosts answer.
    case ends(after: IPAddress?)
    /// TCP packets to a port get no further than this router, and UDP packets do.
    case tcpEnds(after: IPAddress, port: UInt16)
    /// Packets of so many bytes pass, and larger ones do not.
    case largePackets(link: String?, fitting: Int)
    /// A tunnel takes packets and brings none back, while packets to its far end pass over the link below it.
    case silentTunnel(String, over: String)
    /// Packets come out of a tunnel, and get no further than its far end.
    case tunnelEnds(String, after: IPAddress)

    fileprivate var texts: CauseTexts {
        switch self {
        case .loop(let router): ("routingLoop", "packets go in circles" + (router.map { " at \($0)" } ?? ""))
        case .prohibits(let error):
            ("pathProhibits", "\(error.sender(or: "a router on the way")) forbids it (\(error.number))")
        case .noRoute(let error):
            ("pathNoRoute", "\(error.sender(or: "a router on the way")) has no route there (\(error.number))")
        case .ends(let router?): ("pathEnds", "packets get as far as \(router), the last router that answers")
        case .ends(nil): ("pathEnds", "packets are lost on the way, while other hosts answer")
        case .tcpEnds(after: let router, let port):
            ("tcpFiltered", "TCP packets to port \(port) get no further than \(router), and UDP packets do")
        case .silentTunnel(let tunnel, over: let link):
            ("tunnelSilent", "nothing comes back through the tunnel \(tunnel); \(link) below it works")
        case .tunnelEnds(let tunnel, after: let router):
            ("tunnelEnds", "packets get no further than \(router), the far end of the tunnel \(tunnel)")
        case .largePackets(_, fitting: let size):
            ("largePacketsLost", "packets of \(size) bytes pass, and large ones do not")
        }
    }
}

/// What is known if the evidence names no party.
package enum UnknownCause: Sendable, Hashable {
    /// The gateway is on the link, and no router answers, itself included.
    case routerOrProvider(gateway: IPAddress)
    /// TCP packets are lost before the first router, which UDP packets reach.
    case hostOrPath
    /// Internet checks of one server fail, which does not affect the others.
    case oneCheck
    /// Name servers on this host's link fail, and no party beyond the gateway was asked.
    case forwarder
    /// A tunnel takes packets and brings none back, and the link below it was not asked.
    case silentTunnel(String)
    /// The target does not answer, and no other party was asked.
    case silence
    /// The time ran out before anything failed.
    case notEnoughTime

    fileprivate var texts: CauseTexts {
        switch self {
        case .routerOrProvider(let gateway):
            ("routerOrProvider", "neither the gateway \(gateway) nor anything beyond it answers")
        case .hostOrPath: ("hostOrPath", "no router answers a TCP packet, and routers answer UDP packets")
        case .oneCheck: ("oneCheck", "only the internet check of one server fails")
        case .forwarder:
            ("forwarderFails", "the resolver on the link fails, and nothing beyond the gateway was asked")
        case .silentTunnel(let tunnel):
            ("tunnelOrLine", "nothing comes back through the tunnel \(tunnel), and the line below it was not asked")
        case .silence: ("silence", "no answer, and nothing says why")
        case .notEnoughTime: ("notEnoughTime", "the time ran out before anything failed")
        }
    }
}
