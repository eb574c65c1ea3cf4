import Testing
@testable import TidegateCore

@testable import TidegateDaemon

/// The bodies that are kept for `tasks show --body`, and what is remembered of failed attempts.
@Suite struct KeptBodiesTests {
    private func id(_ number: Int) throws -> TaskID {
        let digits = String(number)
        return try #require(
            TaskID("018bcfe5-6800-7000-8000-\(String(repeating: "0", count: 12 - digits.count))\(digits)"))
    }

    @Test("A body is put together from its pieces, and begins again with the attempt that does")
    func pieces() throws {
        let bodies = KeptBodies()
        let task = try self.id(1)
        #expect(bodies[task] == nil)
        bodies.add([1, 2], at: 0, of: task)
        bodies.add([3], at: 2, of: task)
        #expect(bodies[task] == [1, 2, 3])
        bodies.add([9], at: 1, of: task)
        #expect(bodies[task] == [1, 9])
        bodies.add([7], at: 5, of: task)
        #expect(bodies[task] == [1, 9], "a gap is never filled with something else")
        bodies.add([4], at: 0, of: task)
        #expect(bodies[task] == [4])
    }

    @Test("No more is kept than the bound, of a body and of bodies")
    func bounds() throws {
        let bodies = KeptBodies()
        let first = try self.id(0)
        let piece = [UInt8](repeating: 7, count: 40_000)
        bodies.add(piece, at: 0, of: first)
        bodies.add(piece, at: 40_000, of: first)
        bodies.add(piece, at: 80_000, of: first)
        #expect(bodies[first]?.count == KeptBodies.bytesPerBody)
        for number in 1...KeptBodies.mostBodies { bodies.add([1], at: 0, of: try self.id(number)) }
        #expect(bodies[first] == nil)
        #expect(bodies[try self.id(1)] == [1])
    }

    @Test("The last failed attempt is remembered until the task is over, with the time of the next one")
    func notes() throws {
        let notes = AttemptNotes()
        let task = try self.id(1)
        func happen(_ kind: TaskEvent.Kind, at seconds: Int64 = 0) {
            notes.receive(
                Event(
                    sequence: 1, time: WallTime(microseconds: seconds * 1_000_000),
                    moment: MonotonicTime(nanoseconds: 0),
                    payload: .task(TaskEvent(id: task, taskKind: .data, kind: kind))))
        }
        happen(.attemptStarted(number: 1))
        #expect(notes[task] == nil)
        let attribution = Attribution(party: .gateway)
        happen(
            .attemptFailed(
                AttemptSummary(number: 1, method: "GET", duration: .seconds(1)), .connectFailed, attribution,
                isCharged: true))
        happen(.retryScheduled(.failure(.connectFailed), delay: .seconds(4)), at: 10)
        let note = AttemptNotes.Note(
            reason: "could not connect", party: .gateway, retryAt: WallTime(microseconds: 14_000_000))
        #expect(notes[task] == note)
        happen(.attemptStarted(number: 2))
        #expect(notes[task]?.retryAt == nil && notes[task]?.party == .gateway)
        happen(.held(.path, detail: nil))
        #expect(notes[task] != nil)
    }
}
