internal import Hummingbird
internal import Synchronization

/// Limits how many requests are answered at a time, in total and per peer.
///
/// The last quarter of the places is reserved for peers without one, so that no peer can take them all. A peer's
/// scrapes are counted separately, so that reloading the page repeatedly does not block scrapes from the same host.
struct RequestPlaces: Sendable {
    /// The requests that count together.
    struct Holder: Sendable, Hashable {
        let peer: PeerAddress
        let isScrape: Bool
    }

    let limit: Int
    private var counts: [Holder: Int] = [:]
    private(set) var count = 0

    init(limit: Int) { self.limit = limit }

    /// Takes a place; false if none is free for this holder.
    mutating func take(_ holder: Holder) -> Bool {
        guard self.count < self.limit, self.count < self.limit - self.limit / 4 || self.counts[holder] == nil
        else { return false }
        self.count += 1
        self.counts[holder, default: 0] += 1
        return true
    }

    mutating func release(_ holder: Holder) {
        guard let held = self.counts[holder] else { return }
        self.counts[holder] = held > 1 ? held - 1 : nil
        self.count -= 1
    }
}

/// The places for an endpoint's requests.
final class RequestTable: Sendable {
    let places: Mutex<RequestPlaces>

    init(limit: Int) { self.places = Mutex(RequestPlaces(limit: limit)) }
}

/// The place of one request, taken by its route and held until its response has been sent.
final class RequestPlace: Sendable {
    private let table: RequestTable
    private let peer: PeerAddress
    private let holder = Mutex<RequestPlaces.Holder?>(nil)

    init(_ table: RequestTable, peer: PeerAddress) {
        self.table = table
        self.peer = peer
    }

    /// Takes a place; false if there is no room for the request.
    func take(isScrape: Bool) -> Bool {
        let holder = RequestPlaces.Holder(peer: self.peer, isScrape: isScrape)
        guard self.table.places.withLock({ $0.take(holder) }) else { return false }
        self.holder.withLock { $0 = holder }
        return true
    }

    /// Frees the place if one was taken.
    func release() {
        guard let holder = self.holder.withLock({ $0.take() }) else { return }
        self.table.places.withLock { $0.release(holder) }
    }
}

/// Answers 503 if too many requests are being answered.
struct RequestLimitMiddleware: RouterMiddleware {
    let isScrape: Bool

    func handle(_ request: Request, context: ServerContext, next: NextHandler) async throws -> Response {
        guard context.source.place?.take(isScrape: self.isScrape) ?? true else {
            return .unavailable("Too many concurrent requests.", retryAfter: 1)
        }
        return try await next(request, context)
    }
}
