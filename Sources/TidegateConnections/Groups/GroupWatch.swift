internal import TidegateAttribution
internal import TidegateCore

/// Tracks the groups of remotes behind each next hop, and creates the events of their stalls.
struct GroupWatch {
    /// The responsible party of each hanging remote, and the effects of assessing all groups.
    typealias Assessment = (parties: [Remote: FaultParty], effects: [ObservationEffect])

    // Stalls without an event so far: the event names the party, which the group decides.
    private var unreported: [Remote: StallFinding] = [:]
    private var reported: Set<Remote> = []
    private var silent: Set<NextHop> = []
    private var answers = RecentAnswers()
    /// Whether short connections are seen: without them nothing shows that the next hop opens some.
    var seesEndings = true
    /// When live connections were last listed, which is how recent the answers are; nil before the first list.
    var lastList: MonotonicTime?

    /// True if no hanging connection is known.
    var isIdle: Bool { self.unreported.isEmpty && self.reported.isEmpty && self.silent.isEmpty }

    /// Whether some remote has hanging connections that no event has reported yet.
    var hasUnreported: Bool { !self.unreported.isEmpty }

    /// Whether several remotes behind a next hop hang and none answers.
    func isSilent(_ nextHop: NextHop) -> Bool { self.silent.contains(nextHop) }

    /// Whether a remote other than `address` behind a next hop had answered recently, as of the last list.
    mutating func isAnyAnswering(
        behind nextHop: NextHop, besides address: IPAddress, _ remotes: RemoteTable, _ routes: RouteCache,
        at now: MonotonicTime
    ) -> Bool {
        let latest = self.answers.latest(behind: nextHop, besides: address, remotes, routes, at: now)
        return latest.map { (self.lastList ?? now) - $0 < Thresholds.answerAge } ?? false
    }

    /// Records that a connection to a remote hangs.
    mutating func addStall(_ finding: StallFinding, of remote: Remote) {
        guard !self.reported.contains(remote) else { return }
        self.unreported[remote] = finding
    }

    /// Records that no connection to a remote hangs any more; true if an event had reported the stall.
    mutating func removeStalls(of remote: Remote) -> Bool {
        self.unreported[remote] = nil
        return self.reported.remove(remote) != nil
    }

    /// Assesses all groups as of the last list.
    mutating func assess(_ remotes: RemoteTable, _ routes: RouteCache, at now: MonotonicTime) -> Assessment {
        self.forget(allBut: remotes)
        var assessment: Assessment = ([:], [])
        let moment = self.lastList ?? now
        let groups = Dictionary(grouping: remotes.entries.keys) { routes.nextHop(to: $0.address) }
        var stillSilent: Set<NextHop> = []
        for (nextHop, members) in groups {
            // Routes still being looked up are considered in the next assessment.
            guard let nextHop else { continue }
            var finding = RemoteGroup.finding(Self.members(members, of: remotes), at: moment)
            if self.isUnsure(finding, nextHop) {
                finding = .some(Dictionary(members.map { ($0.address, .undecided) }) { first, _ in first })
            }
            if case .silent(let count) = finding {
                stillSilent.insert(nextHop)
                if !self.silent.contains(nextHop) {
                    assessment.effects.append(
                        .publish(.groupSilent(gateway: nextHop.gateway, interface: nextHop.interface, remotes: count)))
                }
            }
            for remote in members where remotes.entries[remote]?.isStalled ?? false {
                let party = self.party(of: remote, finding, routes)
                assessment.parties[remote] = party
                if let stall = self.unreported.removeValue(forKey: remote) {
                    self.reported.insert(remote)
                    let event = ConnectionEvent.Stall(
                        remote, stall.kind, age: stall.age, retransmits: stall.retransmits, nextTry: stall.nextTry,
                        party: party)
                    assessment.effects.append(.publish(.stalled(event)))
                }
            }
        }
        self.silent = stillSilent
        return assessment
    }

    // The table has forgotten these remotes, so the end of their stalls would never be detected.
    private mutating func forget(allBut remotes: RemoteTable) {
        guard !self.unreported.isEmpty || !self.reported.isEmpty else { return }
        self.unreported = self.unreported.filter { remotes.entries[$0.key] != nil }
        self.reported = self.reported.filter { remotes.entries[$0] != nil }
    }

    // A remote with several ports or both directions is one member. If only some of them hang it is two members: a host
    // that answers on another port proves the path to it.
    private static func members(_ remotes: [Remote], of table: RemoteTable) -> [RemoteGroup.Member] {
        struct Key: Hashable {
            let address: IPAddress
            let isSilent: Bool
        }
        var members: [Key: RemoteGroup.Member] = [:]
        for remote in remotes {
            guard let entry = table.entries[remote] else { continue }
            let silentSince = entry.silentSince
            let key = Key(address: remote.address, isSilent: silentSince != nil)
            var member = members[key] ?? RemoteGroup.Member(remote.address)
            member.answered = [member.answered, entry.answered].compactMap(\.self).max()
            member.opened = [member.opened, entry.opened].compactMap(\.self).max()
            member.isOpening =
                (members[key]?.isOpening ?? true) && !entry.isKeptHere
                && entry.stalled.keys.allSatisfy { $0 == .connecting }
            member.stalledSince = [member.stalledSince, silentSince].compactMap(\.self).min()
            members[key] = member
        }
        return Array(members.values)
    }

    private func isUnsure(_ finding: RemoteGroup.Finding, _ nextHop: NextHop) -> Bool {
        switch finding {
        // No router stands between hosts on one link, so two silent ones share no cause.
        case .silent: nextHop.gateway == nil
        case .some(let remotes):
            remotes.values.contains(.opensNone) && (nextHop.gateway == nil || !self.seesEndings)
        case .fine, .alone: false
        }
    }

    private func party(of remote: Remote, _ finding: RemoteGroup.Finding, _ routes: RouteCache) -> FaultParty {
        let verdict = routes.route(to: remote.address)?.verdict ?? .unknown
        var evidence = FailureEvidence(failure: .timedOut, before: verdict, after: verdict)
        (evidence.isOfThisPath, evidence.remotes) = (true, finding.evidence(of: remote.address))
        return DecisionTable.party(of: evidence)
    }
}

/// The remotes behind each next hop that answered last.
///
/// Thousands of connections may fail together, and each one queries this: the table of remotes is read once per moment.
struct RecentAnswers {
    private typealias Answer = (address: IPAddress, moment: MonotonicTime)

    private static let lifetime = Duration.milliseconds(10)

    // The last two remotes of each next hop, so that a caller that excludes one still gets the other.
    private var answers: [NextHop: [Answer]] = [:]
    private var read: MonotonicTime?

    /// When a remote other than `address` behind `nextHop` last answered; nil if none did.
    mutating func latest(
        behind nextHop: NextHop, besides address: IPAddress, _ remotes: RemoteTable, _ routes: RouteCache,
        at now: MonotonicTime
    ) -> MonotonicTime? {
        if self.read.map({ now - $0 >= Self.lifetime }) ?? true {
            self.read = now
            self.read(remotes, routes)
        }
        return self.answers[nextHop]?.filter { $0.address != address }.map(\.moment).max()
    }

    private mutating func read(_ remotes: RemoteTable, _ routes: RouteCache) {
        self.answers = [:]
        for (remote, entry) in remotes.entries {
            guard let moment = entry.answered, let nextHop = routes.nextHop(to: remote.address) else { continue }
            self.add((remote.address, moment), behind: nextHop)
        }
    }

    private mutating func add(_ answer: Answer, behind nextHop: NextHop) {
        var latest = self.answers[nextHop] ?? []
        if let same = latest.firstIndex(where: { $0.address == answer.address }) {
            guard latest[same].moment < answer.moment else { return }
            latest.remove(at: same)
        }
        latest.append(answer)
        latest.sort { $0.moment > $1.moment }
        self.answers[nextHop] = Array(latest.prefix(2))
    }
}

/// An effect of an observation.
enum ObservationEffect {
    case publish(ConnectionEvent)
    /// Look up the route to an address.
    case lookUp(IPAddress)
}
