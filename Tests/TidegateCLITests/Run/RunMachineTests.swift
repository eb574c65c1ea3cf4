import Testing

@testable import TidegateCLI

@Suite struct RunMachineTests {
    private func effects(_ inputs: RunMachine.Input..., retries: Int = 3) -> [[RunMachine.Effect]] {
        var machine = RunMachine(retryLimit: retries)
        return inputs.map { machine.handle($0) }
    }

    private func note(_ number: Int, of limit: Int = 3) -> RunMachine.Effect {
        .note("the command ended with 23 while the path was lost (eth0 has no carrier): retry \(number) of \(limit)")
    }

    private let loss = RunMachine.Input.lost("eth0 has no carrier")

    @Test("A command that succeeds ends the run, whatever the path did")
    func success() {
        #expect(self.effects(.opened, .ended(0)) == [[.start], [.finish(0, nil)]])
        #expect(self.effects(.opened, self.loss, .ended(0)).last == [.finish(0, nil)])
    }

    @Test("A failure while the path was lost is tried again behind the gate")
    func lossBefore() {
        #expect(
            self.effects(.opened, self.loss, .ended(23), .opened, .ended(0))
                == [[.start], [], [self.note(1), .wait], [.start], [.finish(0, nil)]])
    }

    @Test("A loss soon after a failure explains it too")
    func lossAfter() {
        #expect(
            self.effects(.opened, .ended(23), self.loss, .graceOver, .opened)
                == [[.start], [.startGrace], [self.note(1), .wait], [], [.start]])
    }

    @Test("A failure that no loss explains ends with the command's own code")
    func ownFailure() {
        #expect(self.effects(.opened, .ended(7), .graceOver) == [[.start], [.startGrace], [.finish(7, nil)]])
    }

    @Test("A loss of before the command ran explains nothing")
    func lossBeforeStart() {
        #expect(self.effects(self.loss, .opened, .ended(7), .graceOver).last == [.finish(7, nil)])
        #expect(
            self.effects(.opened, self.loss, .ended(23), .opened, .ended(23), .graceOver).last == [.finish(23, nil)])
    }

    @Test("Only failures for want of a path count, and the last one says that no retry is left")
    func retriesEnd() {
        let effects = self.effects(.opened, self.loss, .ended(23), .opened, self.loss, .ended(23), retries: 1)
        let last = "the command ended with 23 while the path was lost (eth0 has no carrier); no retry is left"
        #expect(effects.last == [.finish(23, last)])
        // Nothing is waited for where nothing could follow.
        #expect(self.effects(.opened, .ended(7), retries: 0).last == [.finish(7, nil)])
        #expect(self.effects(.opened, self.loss, .ended(7), retries: 0).last == [.finish(7, nil)])
    }

    @Test("A gate that stays shut ends with 75 and what is missing")
    func gaveUp() {
        #expect(
            self.effects(.gaveUp("carrier: eth0 has no carrier")) == [[.finish(75, "carrier: eth0 has no carrier")]])
    }

    @Test("A signal ends the waiting, is passed to the command, and is never answered by a retry")
    func signals() {
        #expect(self.effects(.signal(15)) == [[.finish(143, nil)]])
        #expect(self.effects(.opened, .ended(7), .signal(2)).last == [.finish(130, nil)])
        #expect(
            self.effects(.opened, self.loss, .signal(15), .ended(143))
                == [[.start], [], [.forward(15)], [.finish(143, nil)]])
        // The keyboard reaches the command first.
        #expect(self.effects(.opened, self.loss, .ended(130)).last == [.finish(130, nil)])
    }

    @Test("A command that cannot be started ends with the code of shells")
    func notStarted() {
        let ending = CommandError(.notFound, "x: No such file or directory")
        #expect(self.effects(.opened, .notStarted(ending)).last == [.finish(127, ending.message)])
    }

    @Test("Nothing follows the end")
    func finished() {
        #expect(self.effects(.opened, .ended(0), self.loss, .opened, .signal(2)).suffix(3) == [[], [], []])
    }
}
