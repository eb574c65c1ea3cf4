internal import Hummingbird
internal import Logging
internal import NIOCore
internal import TidegateCore

/// What a middleware passes a request on to.
typealias NextHandler = (Request, ServerContext) async throws -> Response

/// What the routes of a server may need besides the request.
struct ServerContext: RequestContext {
    struct Source: RequestContextSource {
        let channel: any Channel
        /// How many requests the server is answering, this one included.
        let inFlight: Int
        /// Which hosts the listener answers for; nil for all, without a Host field, too.
        var hosts: HostCheck?
        /// The place of the request; nil without a limit.
        var place: RequestPlace?
        // The daemon logs what happened to requests from their events; the libraries' own log is left out.
        var logger: Logger { ServerContext.silentLogger }
    }

    static let silentLogger = Logger(label: "tidegate.server") { _ in SwiftLogNoOpLogHandler() }

    var coreContext: CoreRequestContextStorage
    let source: Source
    /// The connection of the request.
    var channel: any Channel { self.source.channel }
    /// True if the client has shown who it is, as the access policy requires.
    var isAuthenticated = false
    /// True if the client is a program of this host that connected to a loopback address.
    var isFromLoopback: Bool { PeerAddress.ip(of: self.channel.remoteAddress)?.isLoopback ?? false }
    /// Who asks on the control socket.
    var caller = ControlCaller.member

    init(source: Source) {
        self.coreContext = CoreRequestContextStorage(source: source)
        self.source = source
    }
}
