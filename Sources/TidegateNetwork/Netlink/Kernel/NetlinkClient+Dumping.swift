internal import TidegateCore

// How everything is read at once.
extension NetlinkClient {
    private static let immediateTries = 5

    /// Dumps everything into new tables.
    ///
    /// An interrupted dump is tried again, at once and then with a pause.
    func resync(_ news: inout NetlinkChanges, reason: NetlinkEvent.ResyncReason) {
        let start = self.moment
        defer {
            let nonsense = self.query?.takeNonsense() ?? 0
            if nonsense > 0 { news.events.append(.malformed(count: nonsense)) }
        }
        for attempt in 1...NetlinkClient.immediateTries {
            guard let query = self.query else { return }
            switch query.dump() {
            case .failed(let error): return self.lose(error, &news)
            case .broken: return self.dumpBroke(&news)
            case .complete(let links, let addresses, let isInterrupted):
                if isInterrupted {
                    self.health.interruptedDumps += 1
                    news.events.append(.dumpInterrupted)
                    if attempt < NetlinkClient.immediateTries { continue }
                }
                self.adopt(links, addresses, isComplete: !isInterrupted)
                news.events.append(.resynced(reason, duration: self.moment - start))
                news.isDirty = true
                return
            }
        }
    }

    // Lost answers are no reason to go blind: what was last known stays until a dump comes through.
    private func dumpBroke(_ news: inout NetlinkChanges) {
        self.health.overruns += 1
        self.health.isConsistent = false
        news.events.append(.overrun)
        let error = NetlinkError(operation: "dumping links and addresses", text: "the answer was lost")
        guard !self.tables.links.isEmpty else { return self.lose(error, &news) }
        do throws(NetlinkError) {
            // The kernel still has the rest of the dump for the old socket.
            self.query = try QueryChannel(self.options)
        } catch {
            return self.lose(error, &news)
        }
        self.interruptions += 1
        self.arm(.resync, after: NetlinkClient.backoff(self.interruptions, from: .milliseconds(50), limit: .seconds(1)))
    }

    private func adopt(_ links: [KernelLink], _ addresses: [KernelAddress], isComplete: Bool) {
        // An interrupted dump may have skipped anything, and what it skipped is not lost.
        if isComplete || self.tables.links.isEmpty {
            self.tables.replace(links: links, addresses: addresses)
        } else {
            self.tables.merge(links: links, addresses: addresses)
        }
        for link in links { self.classify(link.index) }
        self.isBehind = false
        self.health.resyncs += 1
        self.health.isConsistent = isComplete
        self.interruptions = isComplete ? 0 : self.interruptions + 1
        if !isComplete, !self.options.isOnce {
            self.arm(
                .resync, after: NetlinkClient.backoff(self.interruptions, from: .milliseconds(50), limit: .seconds(1)))
        }
    }

    func classify(_ index: UInt32) {
        guard let link = self.tables.link(index), link.kind == .other else { return }
        var facts: LinkFacts?
        let kind = LinkClassifier.kind(of: link) {
            facts = ProcSysFiles.facts(of: link)
            return facts
        }
        self.tables.classify(index, as: kind, isTether: LinkClassifier.isTether(facts))
    }
}
