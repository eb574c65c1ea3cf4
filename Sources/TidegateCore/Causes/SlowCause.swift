/// What makes a target slow that works.
package enum SlowCause: Sendable, Hashable {
    /// Packets wait in the queue of this host's own interface; `normal` is the usual time to the first host behind it.
    case ownQueue(Duration, interface: String, normal: Duration? = nil)
    /// The queue of this host's own interface is full.
    case ownQueueDrops(UInt64, interface: String, normal: Duration? = nil)
    /// The access point is received too weakly, in dBm; `repeated` is the share of frames that were sent again.
    case weakRadio(interface: String, signal: Int, repeated: Double?, normal: Duration? = nil)
    /// The access point is received well, and frames are sent again or given up: a crowded channel.
    case disturbedRadio(interface: String, repeated: Double, failed: Double, normal: Duration? = nil)
    /// Packets are lost before or in the router, and the interface counts errors.
    case lossOnLink(Double, interface: String)
    /// Packets are lost before or in the router.
    case lossNear(Double, router: IPAddress)
    /// Packets are lost in the router or beyond it.
    case lossInOrBehind(Double, router: IPAddress)
    /// Packets are lost beyond the router; `isEverywhere` if two destinations show it.
    case lossBehind(Double, router: IPAddress, isEverywhere: Bool)
    /// Packets are lost on the way to the target, and not to a host before it or to another destination.
    case lossOnTheWay(Double, to: IPAddress)
    /// Echoes are lost, and nothing shows where; the host may limit them.
    case echoLoss(Double, to: IPAddress)
    /// The router answers late; `normal` is the usual time, if it is known.
    case delayNear(Duration, router: IPAddress, normal: Duration? = nil)
    /// The line from the router to the next host takes long; `ownTraffic` is what this host moved, in bits per second, if
    /// that may fill it.
    case delayBehind(Duration, to: IPAddress, ownTraffic: Double?, normal: Duration? = nil)
    /// A queue stands on the way to the target, and none on the way to another destination.
    case delayOnTheWay(Duration, to: IPAddress)
    /// The resolver answers late.
    case slowResolver(IPAddress, Duration)
    /// The server answers a request so late, although a round trip is short.
    case slowServer(Duration, roundTrip: Duration)
    /// The server accepts connections so late, although a round trip is short.
    case lateAccept(Duration, roundTrip: Duration)
    /// A program, the server or the way slows a connection.
    case connection(SlowConnection)
    /// The way to the resolver takes long, not the resolver.
    case farResolver(IPAddress, Duration)

    /// Where the trouble begins.
    package var segment: Segment {
        switch self {
        case .ownQueue, .ownQueueDrops: .thisHost
        case .lossOnLink, .weakRadio, .disturbedRadio: .link
        case .lossNear, .lossInOrBehind, .delayNear: .router
        case .lossBehind, .delayBehind: .provider
        case .lossOnTheWay, .echoLoss, .delayOnTheWay, .farResolver: .path
        case .slowResolver: .resolver
        case .slowServer, .lateAccept: .server
        case .connection(let cause): cause.segment
        }
    }

    /// The responsible party; unknown where two cannot be told apart.
    var party: FaultParty {
        switch self {
        case .ownQueue, .ownQueueDrops, .lossOnLink, .weakRadio, .disturbedRadio: .mine
        case .lossNear, .lossInOrBehind, .echoLoss, .delayNear, .delayBehind, .farResolver: .unknown
        case .lossBehind(_, router: _, let isEverywhere): isEverywhere ? .upstream : .unknown
        case .lossOnTheWay, .delayOnTheWay: .path
        case .slowResolver: .resolver
        case .slowServer, .lateAccept: .theirs
        case .connection(let cause): cause.party
        }
    }

    var texts: CauseTexts {
        switch self {
        case .ownQueue(let delay, let interface, let normal):
            ("ownQueue", "this host's own queue on \(interface) takes \(delay.shortText)" + Self.instead(normal))
        case .ownQueueDrops(let count, let interface, normal: _):
            ("ownQueueDrops", "this host's own queue on \(interface) is full: it dropped \(count) packets")
        case .weakRadio(let interface, let signal, let repeated, normal: _):
            (
                "weakRadio",
                "the radio link of \(interface) is weak (−\(signal.magnitude) dBm"
                    + (repeated.map { ", \(Self.percent($0)) of frames sent again" } ?? "") + ")"
            )
        case .disturbedRadio(let interface, let repeated, let failed, normal: _):
            (
                "disturbedRadio",
                "the radio link of \(interface) repeats \(Self.percent(repeated)) of its frames"
                    + (failed > 0 ? " and loses \(Self.percent(failed))" : "")
            )
        case .lossOnLink(let loss, let interface):
            ("lossOnLink", "\(Self.percent(loss)) of packets are lost on \(interface), which counts errors")
        case .lossNear(let loss, let router):
            ("lossNear", "\(Self.percent(loss)) of packets are lost before or in your router \(router)")
        case .lossInOrBehind(let loss, let router):
            ("lossInOrBehind", "\(Self.percent(loss)) of packets are lost in your router \(router) or beyond it")
        case .lossBehind(let loss, let router, let isEverywhere):
            (
                "lossBehind",
                "\(Self.percent(loss)) of packets are lost beyond your router \(router)"
                    + (isEverywhere ? ", wherever they go" : "")
            )
        case .lossOnTheWay(let loss, let server):
            ("lossOnTheWay", "\(Self.percent(loss)) of packets are lost on the way to \(server)")
        case .echoLoss(let loss, let server):
            ("echoLoss", "\(Self.percent(loss)) of echoes to \(server) are lost; it may limit them")
        case .delayNear(let delay, let router, let normal):
            ("delayNear", "your router \(router) or the link to it takes \(delay.shortText)" + Self.instead(normal))
        case .delayBehind(let delay, let hop, let traffic, let normal):
            (
                "delayBehind",
                "the line behind your router takes \(delay.shortText)" + Self.instead(normal) + " to \(hop)"
                    + (traffic.map { "; this host moves \(Self.rate($0))" } ?? "")
            )
        case .delayOnTheWay(let delay, let server):
            ("delayOnTheWay", "packets wait up to \(delay.shortText) on the way to \(server)")
        case .slowResolver(let server, let time):
            ("slowResolver", "the resolver \(server) takes \(time.shortText) for a name that it knows")
        case .slowServer(let time, let trip):
            ("slowServer", "the server answers after \(time.shortText); a round trip takes \(trip.shortText)")
        case .lateAccept(let time, let trip):
            (
                "lateAccept",
                "the server accepts a connection after \(time.shortText); a round trip takes \(trip.shortText)"
            )
        case .connection(let cause): cause.texts
        case .farResolver(let server, let time):
            ("farResolver", "the way to the resolver \(server) takes \(time.shortText)")
        }
    }

    private static func percent(_ share: Double) -> String { "\(Int((share * 100).rounded())) %" }

    private static func instead(_ normal: Duration?) -> String {
        normal.map { " instead of \($0.shortText)" } ?? ""
    }

    fileprivate static func rate(_ bits: Double) -> String { "\((bits / 100_000).rounded() / 10) Mbit/s" }
}

/// What makes a connection slow, as the kernel's counters of it show.
package enum SlowConnection: Sendable, Hashable {
    /// A program does not read what arrives: so many bytes wait.
    case unreadData(Int, by: String)
    /// A program's receive buffer takes so many bytes in a round trip.
    case smallBuffer(Int, by: String, roundTrip: Duration)
    /// The server does not read what a program sends.
    case serverDoesNotRead(IPAddress)
    /// The server's receive window takes so many bytes in a round trip.
    case smallWindow(Int, of: IPAddress, roundTrip: Duration)
    /// Something on the way drops what exceeds a rate, in bits per second.
    case rateLimit(Double, to: IPAddress)
    /// The server sends in pieces, with pauses so long.
    case serverPauses(Duration, IPAddress)

    fileprivate var segment: Segment {
        switch self {
        case .unreadData, .smallBuffer: .program
        case .serverDoesNotRead, .smallWindow, .serverPauses: .server
        case .rateLimit: .path
        }
    }

    fileprivate var party: FaultParty {
        switch self {
        case .unreadData, .smallBuffer: .mine
        case .serverDoesNotRead, .smallWindow, .serverPauses: .theirs
        case .rateLimit: .path
        }
    }

    fileprivate var texts: CauseTexts {
        switch self {
        case .unreadData(let bytes, let program):
            ("unreadData", "\(program) does not read what arrives; \(ByteText(Int64(bytes))) wait")
        case .smallBuffer(let bytes, let program, let trip):
            ("smallBuffer", "\(program) takes at most \(ByteText(Int64(bytes))) per round trip of \(trip.shortText)")
        case .serverDoesNotRead(let server): ("serverDoesNotRead", "\(server) does not read what is sent to it")
        case .smallWindow(let bytes, let server, let trip):
            ("smallWindow", "\(server) takes at most \(ByteText(Int64(bytes))) per round trip of \(trip.shortText)")
        case .rateLimit(let bits, let server):
            ("rateLimit", "something on the way to \(server) drops what exceeds \(SlowCause.rate(bits))")
        case .serverPauses(let pause, let server):
            ("serverPauses", "\(server) sends in pieces, with pauses of \(pause.shortText)")
        }
    }
}

/// A part of the path to a target.
package enum Segment: String, Sendable, Hashable, CustomStringConvertible, MetricLabel {
    case program, thisHost, link, router, provider, resolver, path, server
    /// Another destination, for comparison.
    case reference

    /// The part in words.
    package var description: String {
        switch self {
        case .program: "a program of this host"
        case .thisHost: "this host"
        case .link: "this host's link"
        case .router: "your router"
        case .provider: "beyond your router"
        case .resolver: "the resolver"
        case .path: "the path to the server"
        case .server: "the server"
        case .reference: "for comparison"
        }
    }
}
