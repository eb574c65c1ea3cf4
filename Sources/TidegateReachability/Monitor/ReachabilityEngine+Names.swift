internal import TidegateCore
internal import TidegateNetwork

// How long names are good for, and what happens when other servers tell.
extension ReachabilityEngine {
    /// Asks how long the last answer about a name is good for; whoever looks only once does not live to see it.
    func learnLife(of name: String) {
        guard self.kernel.state != .connected(.once) else { return }
        self.parts.resolver.timeToLive(of: name) { [send = self.send] life in
            if let life { _ = send(.lasts(name, life)) }
        }
    }

    func lasts(_ name: String, for life: Duration) {
        self.book.lasts(name, for: life, at: self.kernel.now)
        self.armNames(by: self.book.names[name]?.deadline)
    }

    /// Takes in that the machine has slept: names and the internet are what they were before only by luck.
    ///
    /// The clock stood still meanwhile, and with it all that runs out.
    func wokeUp() {
        self.askAnew()
        self.requestFailed()
    }

    /// Takes in that this host's resolvers are others: they may say something else about every name.
    func resolversChanged() {
        self.parts.resolver.invalidate()
        self.readResolvers()
        self.evaluate(heardAt: nil)
        self.askNames(.all)
    }
}
