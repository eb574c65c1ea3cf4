internal import TidegateCore
internal import TidegateTransfer

// Waiting for room on the disk and for free descriptors.
extension TaskBodies {
    // MARK: - Full disks

    /// The disk is full: what cannot be continued is removed from it, and the task tries again later.
    func waitForDisk(_ record: TaskRecord, _ message: String, _ tasks: inout SessionTasks) {
        if record.download.partial.resumePoint == nil, let file = record.download.file {
            record.download.partial.startOver()
            // A file that cannot be cut is written from its start.
            try? file.truncate(to: 0)
        }
        record.resetRedirects()
        self.scheduleRecheck(record, &tasks)
        tasks.feed(.attemptHolds(.disk, detail: message), to: record)
    }

    /// The body is here, and there is no room to commit its file: it waits for some.
    func waitForRoom(_ record: TaskRecord, _ error: FileError, _ tasks: inout SessionTasks) {
        record.download.commit = nil
        // What fsync(2) could not write may be gone from memory, too. Of the directory it speaks after the move: the
        // file is whole, and at its destination.
        let isWhole = error.operation != "fsync" || error.path != record.paths?.temporary.path
        if !isWhole { self.forgetBody(record) }
        self.scheduleRecheck(record, &tasks)
        tasks.feed(.commitHolds(.disk, detail: error.description, isWhole: isWhole), to: record)
    }

    private func scheduleRecheck(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        tasks.schedule(.disk, of: record, after: self.random.lengthened(self.diskRecheck))
    }

    // MARK: - No free descriptors

    /// No descriptor is free for an attempt: the task tries again when one is.
    func waitForDescriptors(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        record.resetRedirects()
        self.scheduleDescriptorCheck(record, &tasks)
        tasks.feed(.attemptHolds(.descriptors, detail: nil), to: record)
    }

    /// The body is here, and no descriptor is free to commit its file.
    func waitToCommit(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        record.download.commit = nil
        self.scheduleDescriptorCheck(record, &tasks)
        tasks.feed(.commitHolds(.descriptors, detail: nil, isWhole: true), to: record)
    }

    /// It is time to look whether a descriptor is free.
    func descriptorsDue(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        guard !DescriptorShortage.isNow else { return self.scheduleDescriptorCheck(record, &tasks) }
        tasks.feed(.release(.descriptors), to: record)
    }

    // Spread, so that those who wait do not all take the first one.
    private func scheduleDescriptorCheck(_ record: TaskRecord, _ tasks: inout SessionTasks) {
        tasks.schedule(.descriptors, of: record, after: self.random.lengthened(.seconds(1)))
    }
}
