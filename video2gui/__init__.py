"""From videos of people using software to grounded trajectories: who did what, when, where, and why we believe it.

    metadata row -> shard sample
      parse_row -> filter_metadata -> fetch_video -> filter_content -> annotate -> ground -> check -> pack -> shards

`mine.mine_video` is that chain for one video; `pipelines.mine_videos` is the Beam job for many.
"""
