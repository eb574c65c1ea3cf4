internal import CCurl
internal import Glibc
internal import TidegateLoop
internal import TidegateCore

// The loop's side: libcurl is told what is ready, and afterwards the client is told what came of it.
extension TransferEngine {
    /// A descriptor of libcurl's, or a sink that was blocked, is ready.
    func ready(_ descriptor: Int32, for events: Loop.Interest) {
        if let waiting = self.blockedSinks.take(descriptor, on: self.loop) {
            for number in waiting { self.slots[number]?.unblock() }
            return
        }
        self.wakeUps += 1
        guard let number = self.sockets.epoch(ready: descriptor, on: self.loop),
            let epoch = self.epochs.first(where: { $0.number == number })
        else { return }
        // Before libcurl writes the first byte.
        if events == .write { epoch.log.dials.connected(descriptor) }
        self.guarding(epoch) { () throws(CurlError) in try epoch.act(on: descriptor, events.selected) }
    }

    /// A timer is due; true where it was one of the engine's own.
    func timerFired(_ token: UInt64) -> Bool {
        guard let timer = EngineTimer(token: token) else { return false }
        self.wakeUps += 1
        switch timer {
        case .curl: self.timer.fired()
        // A timer that outlives its attempt finds nothing to let go on, and nothing to tell.
        case .rate(let slot): self.slots[slot]?.unthrottle()
        case .progress(let slot): self.slots[slot]?.lookAtProgress()
        }
        return true
    }

    /// Lets libcurl do what is due and tells the client; no call of libcurl's is under way when it is told.
    func serve(_ client: some TransferClient) {
        // Every round serves what the round before asked for; the bound keeps other descriptors alive.
        for _ in 0..<8 {
            self.runDueTimers()
            self.collectFinished(client)
            self.deliver(client)
            guard self.isTimerDue else { return }
        }
    }

    /// Makes the loop watch and wait for what libcurl wants; the last thing in a batch.
    func rest() {
        var deadline: MonotonicTime?
        self.sockets.apply(self.journal, on: self.loop)
        self.waitToTell()
        for epoch in self.epochs {
            epoch.takeTimer(at: self.now)
            if let next = epoch.deadline { deadline = min(deadline ?? next, next) }
        }
        // What is left for now comes first in the next batch.
        if !self.outbox.slots.isEmpty { deadline = self.now }
        self.timer.arm(at: deadline, on: self.loop)
    }

    /// Drops everything; nothing is reported.
    func shutDown() {
        for slot in self.slots.busy {
            if let id = slot.request?.id { self.remove(slot, id) }
        }
        self.beginEpoch()
    }

    private var isTimerDue: Bool {
        self.epochs.contains { epoch in
            epoch.takeTimer(at: self.now)
            return epoch.deadline.map { $0 <= self.now } ?? false
        }
    }

    private func runDueTimers() {
        for epoch in self.epochs {
            epoch.takeTimer(at: self.now)
            guard let deadline = epoch.deadline, deadline <= self.now else { continue }
            epoch.log.dials.look(at: self.now)
            self.guarding(epoch) { () throws(CurlError) in try epoch.timeOut() }
        }
    }

    private func collectFinished(_ client: some TransferClient) {
        for epoch in self.epochs {
            while let (number, code) = epoch.nextDone() {
                guard let slot = self.slots[number] else { continue }
                // What came before the end is told before the end; the client may drop the attempt meanwhile.
                if let id = self.report(slot, client) { self.finish(slot, id, code, client) }
            }
        }
    }

    private func deliver(_ client: some TransferClient) {
        var index = 0
        while index < self.outbox.slots.count {
            if let slot = self.slots[self.outbox.slots[index]] { _ = self.report(slot, client) }
            index += 1
        }
        self.outbox.slots.removeAll(keepingCapacity: true)
    }

    /// Tells the client what a slot has noted; the attempt's id where it is still running afterwards.
    private func report(_ slot: CurlTransfer, _ client: some TransferClient) -> AttemptID? {
        guard let id = slot.request?.id else { return nil }
        let pending = slot.pending
        slot.pending = []
        if pending.contains(.wire), let ticket = slot.pinTicket {
            slot.pinTicket = nil
            slot.epoch?.redeem(ticket)
        }
        if pending.contains(.wire), let contact = slot.wire.contact() {
            client.attempt(id, reported: .wireReached(contact))
            guard slot.request?.id == id else { return nil }
        }
        if pending.contains(.head), let head = slot.head.value() {
            client.attempt(id, reported: .head(head))
            guard slot.request?.id == id else { return nil }
        }
        if pending.contains(.blocked) { self.waitForSink(of: slot) }
        if pending.contains(.throttled) {
            let delay = slot.throttle(at: self.time.monotonic()) ?? .zero
            _ = self.loop.schedule(after: delay, token: EngineTimer.rate(slot: slot.number).token)
        }
        if pending.contains(.moved) { slot.stamps.lastActivity = self.now }
        if !pending.isDisjoint(with: [.moved, .untold]), let progress = self.news(of: slot) {
            client.attempt(id, reported: .progress(progress))
            guard slot.request?.id == id else { return nil }
        }
        guard pending.contains(.broken) else { return id }
        self.finish(slot, id, CURLE_ABORTED_BY_CALLBACK, client)
        return nil
    }

    private func finish(_ slot: CurlTransfer, _ id: AttemptID, _ code: CURLcode, _ client: some TransferClient) {
        let outcome = slot.outcome(code)
        self.remove(slot, id)
        client.attempt(id, reported: .finished(outcome))
    }

    private func waitForSink(of slot: CurlTransfer) {
        guard case .descriptor(let descriptor)? = slot.request?.sink else { return }
        do throws(LoopError) {
            try self.blockedSinks.add(descriptor, slot: slot.number, on: self.loop)
        } catch {
            slot.fail(.fileError, error.description)
            slot.noteBroken()
        }
    }
}

// MARK: - Epochs

extension TransferEngine {
    func currentEpoch() throws(CurlError) -> ConnectionPool {
        if let last = self.epochs.last, last.number == self.epoch { return last }
        let epoch = try ConnectionPool(number: self.epoch, journal: self.journal)
        self.epochs.append(epoch)
        return epoch
    }

    /// Takes an attempt out of libcurl and frees its slot.
    func remove(_ slot: CurlTransfer, _ id: AttemptID) {
        let epoch = slot.epoch
        if let epoch {
            self.guarding(epoch) { () throws(CurlError) in try epoch.remove(slot) }
            for descriptor in epoch.log.dials.forget(slot) { epoch.log.note(.lost(descriptor)) }
        }
        if case .descriptor(let descriptor)? = slot.request?.sink, slot.pause.contains(.sink) {
            self.blockedSinks.drop(slot.number, from: descriptor, on: self.loop)
        }
        self.slots.release(slot, of: id)
        if let epoch, epoch.number != self.epoch { self.retire(epoch) }
    }

    /// Closes what an old epoch does not need any more.
    func retire(_ epoch: ConnectionPool) {
        self.sockets.apply(self.journal, on: self.loop)
        if epoch.running == 0 {
            self.epochs.removeAll { $0 === epoch }
            epoch.close()
            self.sockets.apply(self.journal, on: self.loop)
            return
        }
        // A paused transfer's socket is not watched either, and must not be taken for an idle one: shut down in
        // flight, a body would end early and look whole.
        // libcurl names a running transfer's socket only afterwards, but its local port before.
        let busy = Set(self.slots.busy.filter { $0.epoch === epoch }.map(\.wire.localPort))
        for descriptor in self.sockets.unwatched(of: epoch.number) {
            guard let port = LocalPort.of(descriptor), !busy.contains(port) else { continue }
            shutdown(descriptor, Int32(SHUT_RDWR))
            self.sockets.markDead(descriptor)
        }
    }

    // libcurl's sets are unusable after an error of their own: its attempts fail, and the next one gets a new set.
    private func guarding(_ epoch: ConnectionPool, _ body: () throws(CurlError) -> Void) {
        do throws(CurlError) {
            try body()
        } catch {
            for slot in self.slots.busy where slot.epoch === epoch {
                slot.fail(.internal, error.description)
                slot.noteBroken()
            }
            if epoch.number == self.epoch { self.epoch += 1 }
        }
    }
}

extension Loop.Interest {
    /// The same for curl_multi_socket_action(3).
    fileprivate var selected: Int32 {
        var selected: Int32 = 0
        if self.contains(.read) { selected |= CURL_CSELECT_IN }
        if self.contains(.write) { selected |= CURL_CSELECT_OUT }
        if self.contains(.error) || self.contains(.hangUp) { selected |= CURL_CSELECT_ERR }
        return selected
    }
}
