internal import TidegateCore
internal import TidegateNetwork

// What is written up for other threads, and told about links.
extension ReachabilityEngine {
    func writeFamilies() {
        let global = self.globalHold.people.verdict ?? .unknown
        let people = AddressFamily.allCases.map {
            ReachabilityStatus.Family(family: $0, verdict: self.familyHolds[$0]?.people.verdict ?? .unknown)
        }
        let gates = self.familyHolds.compactMapValues(\.gates.verdict)
        let links = self.reducer?.surroundings.sortedLinks ?? []
        // In one stroke, so that nobody reads a verdict beside the links of the one before.
        self.board.write { content in
            content.status.links = links
            content.status.global = global
            content.status.families = people
            content.familiesForGates = gates
        }
    }

    func writeHealth() {
        let (health, state) = (self.kernel.health, self.kernel.state)
        self.board.write { content in
            content.status.health = health
            switch state {
            case .starting: break
            case .unavailable(let reason): content.blindness = reason
            case .connected(let mode):
                content.blindness = nil
                content.status.mode = mode
            }
        }
    }

    func writeAddresses(_ surroundings: Surroundings) {
        let held = Set(surroundings.sources.keys)
        self.board.write { $0.heldAddresses = held }
    }

    /// Tells what changed about links that anybody wants to hear of.
    func tellLinks(_ surroundings: Surroundings) {
        let before = self.links
        self.links = surroundings.links
        guard self.isReady else { return }
        for link in surroundings.sortedLinks where !link.isExcluded {
            let old = before[link.index].flatMap { $0.generation == link.generation ? $0 : nil }
            guard old.map({ !$0.isSameState(as: link) }) ?? true else { continue }
            self.parts.bus.publish(.link(LinkEvent(from: old, to: link)))
        }
        for old in before.values where !old.isExcluded {
            guard surroundings.links[old.index]?.generation != old.generation else { continue }
            self.parts.bus.publish(.link(LinkEvent(from: old, to: nil)))
        }
    }
}

extension Link {
    fileprivate func isSameState(as other: Link) -> Bool {
        self.isAdminUp == other.isAdminUp && self.hasCarrier == other.hasCarrier && self.operState == other.operState
            && self.reason == other.reason && self.name == other.name
    }
}
