internal import CCurl
internal import CLinux
internal import Glibc
internal import TidegateCore
internal import TidegateLoop

// Connection pools: the current one, and older ones for as long as an attempt uses them.
extension TransferEngine {
    func currentPool() throws(CurlError) -> ConnectionPool {
        if let last = self.connectionPools.last, last.generation == self.poolGeneration { return last }
        let pool = try ConnectionPool(
            generation: self.poolGeneration, actions: self.actions, record: self.watchdog.record)
        self.connectionPools.append(pool)
        return pool
    }

    /// Takes an attempt out of libcurl and frees its transfer.
    func remove(_ transfer: CurlTransfer, _ id: AttemptID) {
        let pool = transfer.pool
        if let pool {
            self.guarding(pool) { () throws(CurlError) in try pool.remove(transfer) }
            for descriptor in pool.callbacks.sockets.forget(transfer) { pool.callbacks.abandoned(descriptor) }
        }
        if case .descriptor(let descriptor)? = transfer.request?.value.sink, transfer.pause.contains(.sink) {
            self.blocked.drop(transfer.number, from: descriptor, on: self.loop)
        }
        self.transfers.release(transfer, of: id)
        if let pool, pool.generation != self.poolGeneration { self.retire(pool) }
    }

    /// The pool of a generation; nil if it is closed.
    func pool(_ generation: Int) -> ConnectionPool? {
        self.connectionPools.first { $0.generation == generation }
    }

    /// Closes an idle connection on which something came.
    ///
    /// libcurl would take bytes that nobody asked for as the answer to the next request: an answer that was smuggled in,
    /// or a 408 that a server says before it closes.
    func closeIdle(_ descriptor: Int32, of pool: ConnectionPool) {
        guard let port = SocketName.localPort(of: descriptor), !self.busyPorts(of: pool).contains(port) else { return }
        IdleSocket.end(descriptor)
    }

    // libcurl names a running transfer's socket only afterwards, but its local port before.
    private func busyPorts(of pool: ConnectionPool) -> Set<UInt16> {
        Set(self.transfers.busy.filter { $0.pool === pool }.map(\.connection.localPort))
    }

    /// Closes what an old pool does not need any more.
    func retire(_ pool: ConnectionPool) {
        self.sockets.apply(self.actions, on: self.loop)
        if pool.running == 0 {
            self.connectionPools.removeAll { $0 === pool }
            pool.close()
            self.sockets.apply(self.actions, on: self.loop)
            return
        }
        // A paused transfer's socket is not watched either, and must not be taken for an idle one: shut down in
        // flight, a body would end early and look whole.
        let busy = self.busyPorts(of: pool)
        for descriptor in self.sockets.unwatched(of: pool.generation) {
            guard let port = SocketName.localPort(of: descriptor), !busy.contains(port) else { continue }
            shutdown(descriptor, Int32(SHUT_RDWR))
            self.sockets.markDead(descriptor)
        }
    }

    /// Calls libcurl; an error of its own makes the pool unusable, so that its attempts fail and the next one gets a new
    /// pool.
    func guarding(
        _ pool: ConnectionPool, on descriptor: Int32? = nil, _ body: () throws(CurlError) -> Void
    ) {
        do throws(CurlError) {
            if try self.watchdog.watching(descriptor, of: pool.generation, body) { pool.wasCut = true }
        } catch {
            for transfer in self.transfers.busy where transfer.pool === pool {
                transfer.abort(.internal, error.description)
                transfer.note(.aborted)
            }
            if pool.generation == self.poolGeneration { self.poolGeneration += 1 }
        }
    }
}
